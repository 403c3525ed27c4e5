#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option stands in --help, in its manual page and in both completions,
and nowhere stands one that does not exist."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from cli_test import QUIRE

TOP = pathlib.Path(__file__).resolve().parents[2]
LONG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_of(verb):
    text = subprocess.run([QUIRE, verb, "--help"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    usage = [x for x in text.splitlines() if x.startswith("  -")]
    return {m for line in usage for m in LONG.findall(line)}


class Documented(unittest.TestCase):
    def test_manual_pages(self):
        for verb in ("run", "measure", "env", "doctor", "bench"):
            page = (TOP / f"man/quire-{verb}.1").read_text().replace("\\-", "-")
            in_page = set(LONG.findall(page))
            with self.subTest(verb=verb):
                self.assertLessEqual(options_of(verb) - {"--help"}, in_page)

    def test_completions(self):
        for name in ("quire.bash", "_quire"):
            text = (TOP / "completions" / name).read_text()
            known = set(LONG.findall(text))
            every = set().union(*(options_of(v) for v in
                                  ("run", "measure", "env", "doctor", "bench")))
            with self.subTest(name=name):
                self.assertLessEqual(every, known)

    def test_documented_options_exist(self):
        for verb in ("run", "measure", "env", "bench"):
            page = (TOP / f"man/quire-{verb}.1").read_text().replace("\\-", "-")
            start = page.index(".SH OPTIONS")
            end = page.index(".SH EXIT STATUS")
            for option in set(LONG.findall(page[start:end])):
                done = subprocess.run([QUIRE, verb, option + "x"],
                                      stderr=subprocess.PIPE, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 2)
                done = subprocess.run([QUIRE, verb, option],
                                      stdout=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True,
                                      check=False)
                self.assertNotIn("unknown option", done.stderr, option)

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_manual_pages_are_clean(self):
        for page in ("quire", "quire-run", "quire-measure", "quire-env",
                     "quire-bench"):
            done = subprocess.run(
                ["man", "--warnings", "-l", str(TOP / f"man/{page}.1")],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
                check=False)
            self.assertEqual(done.stderr, "")

    def test_shells_can_read_them(self):
        for shell, name in (("bash", "quire.bash"), ("zsh", "_quire")):
            if shutil.which(shell):
                subprocess.run([shell, "-n", TOP / "completions" / name],
                               check=True)


if __name__ == "__main__":
    unittest.main()
