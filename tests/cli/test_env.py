#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quire env: what it prints must mean the same to a shell, a Dockerfile and
a unit file as what `quire run` sets."""
import os
import shutil
import subprocess
import unittest

from cli_test import QUIRE, Case


class Env(Case):
    def lines(self, *options, env=None):
        done = self.quire("env", *options, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk_is_a_failure(self):
        for words in (["env"], ["--help"], ["--version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([QUIRE, *words], stdout=full,
                                      stderr=subprocess.PIPE, text=True,
                                      check=False)
            self.assertEqual(done.returncode, 125)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_plain(self):
        line, = self.lines()
        name, value = line.split("=", 1)
        self.assertEqual(name, "LD_PRELOAD")
        self.assertTrue(os.path.isabs(value) and os.path.exists(value))
        a, b = (self.compiled("int nothing;", name, "-shared", "-fPIC")
                for name in ("a.so", "b.so"))
        lines = self.lines("--decay", "5s", "--keep", "1G", env={
            "LD_PRELOAD": f"{a} {b}", "QUIRE_OPTIONS": "thp=never"})
        self.assertEqual(lines, [f"LD_PRELOAD={value}:{a}:{b}",
                                 "QUIRE_OPTIONS=thp=never,decay=5s,keep=1G"])

    def test_plain_refuses_what_a_shell_would_split(self):
        self.one_line(self.quire("env", "--decay", "1", env={
            "QUIRE_OPTIONS": "stat_dir=/a b"}), 2)
        self.one_line(self.quire("env", "--decay", "1", env={
            "QUIRE_OPTIONS": "stat_dir=/*"}), 2)

    def shell(self, text, env=None):
        done = subprocess.run(
            ["sh", "-euc", text + '\nprintf "%s\\n" "$LD_PRELOAD" '
             '"${QUIRE_OPTIONS-unset}"'], env=env or {"PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            check=True)
        return done.stdout.splitlines()

    def test_shell(self):
        lib = self.lines()[0].split("=", 1)[1]
        text = "\n".join(self.lines("--shell"))
        self.assertEqual(self.shell(text), [lib, "unset"])
        text = "\n".join(self.lines("--shell", "--threshold", "1M"))
        self.assertEqual(self.shell(text), [lib, "threshold=1M"])
        self.assertEqual(
            self.shell("LD_PRELOAD=/x.so QUIRE_OPTIONS=decay=0\n" + text),
            [lib + ":/x.so", "decay=0,threshold=1M"])

    def test_odd_paths_are_quoted(self):
        lib = self.lines()[0].split("=", 1)[1]
        odd = self.dir / "it's $HOME `x` \"q\" 100%\\".replace(" ", "_")
        odd.mkdir()
        shutil.copy(lib, odd)
        env = {"QUIRE_LIBDIR": str(odd)}
        text = "\n".join(self.lines("--shell", env=env))
        self.assertEqual(self.shell(text)[0],
                         str(odd / "libquire-preload.so"))
        unit, = self.lines("--systemd", env=env)
        self.assertIn("100%%", unit)
        self.assertIn('\\"q\\"', unit)
        docker, = self.lines("--docker", env=env)
        self.assertIn("\\$HOME", docker)
        self.assertTrue(docker.endswith('${LD_PRELOAD:+:$LD_PRELOAD}"'))

    def test_docker_and_systemd(self):
        for option, start in (("--docker", "ENV "),
                              ("--systemd", 'Environment="')):
            lines = self.lines(option, "--thp", "never")
            self.assertEqual(len(lines), 2)
            for line in lines:
                self.assertTrue(line.startswith(start), line)
                self.assertTrue(line.endswith('"'), line)
            self.assertIn("thp=never", lines[1])

    def test_plain_works_with_env(self):
        words = self.lines("--threshold", "1M")
        done = subprocess.run(["env", *words, "true"], env=self.env,
                              stderr=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_bad_input(self):
        for words in (["--shell", "--docker"], ["extra"], ["--bogus"],
                      ["--decay", "x"], ["--decay"], ["-v"]):
            self.one_line(self.quire("env", *words), 2)
        self.one_line(self.quire("env", env={"QUIRE_LIBDIR": "/no/such"}),
                      125)


if __name__ == "__main__":
    unittest.main()
