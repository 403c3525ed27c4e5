# SPDX-License-Identifier: MIT
"""What the tests of the command have in common.

Environment, set by meson: QUIRE is the command, CC the C compiler.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

QUIRE = os.environ.get("QUIRE", "quire")
CC = os.environ.get("CC", "cc")
TIMEOUT = 120

# Allocates, fills and frees two blocks of argv[1] KiB, argv[2] times.
BIG_C = r"""
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	size_t n = (argc > 1 ? atol(argv[1]) : 1024) * 1024ul;
	int times = argc > 2 ? atoi(argv[2]) : 50;

	while (times--) {
		char *p = malloc(n), *q = malloc(n);
		__asm__ volatile("" : : "r"(p), "r"(q) : "memory");
		memset(p, 1, n);
		memset(q, 1, n);
		__asm__ volatile("" : : "r"(p), "r"(q) : "memory");
		free(p);
		free(q);
	}
	return argc > 3 ? atoi(argv[3]) : 0;
}
"""


class Case(unittest.TestCase):
    """A test with a folder of its own, and a clean environment."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="quire-test-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.tmp = self.dir / "tmp"
        self.tmp.mkdir()
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("LD_PRELOAD", "GLIBC_TUNABLES",
                                 "QUIRE_OPTIONS", "MALLOC_ARENA_MAX",
                                 "MALLOC_PERTURB_")}
        self.env["TMPDIR"] = str(self.tmp)

    def quire(self, *words, env=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        if "input" in more:
            del more["stdin"]
        return subprocess.run([QUIRE, *map(str, words)],
                              env={**self.env, **(env or {})},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT, **more)

    def compiled(self, source, name="prog", *flags):
        """Path of the program, or the test is skipped."""
        src = self.dir / (name + ".c")
        src.write_text(source)
        out = self.dir / name
        done = subprocess.run([CC, "-O1", "-o", str(out), str(src), *flags],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            self.skipTest("cannot compile: " + done.stderr[:200])
        return out

    def script(self, name, text, mode=0o755):
        path = self.dir / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def one_line(self, done, code):
        """One clear line on stderr and that exit code."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("quire: "), lines[0])
        self.assertLess(len(lines[0]), 220)

    def left_nothing(self):
        self.assertEqual(list(self.tmp.iterdir()), [])

    @staticmethod
    def rows_of(result):
        return {(r["case"], r["metric"]): r["samples"]
                for r in result["rows"]}


def has_json():
    """Was the command built with jansson?"""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "o.json")
        subprocess.run([QUIRE, "run", "-q", "-o", out, "--", "true"],
                       stderr=subprocess.DEVNULL, check=False)
        try:
            with open(out) as f:
                json.load(f)
        except (OSError, ValueError):
            return False
    return True
