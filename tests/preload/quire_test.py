# SPDX-License-Identifier: MIT
"""Run programs under one of our libraries and read what they leave behind."""
import os
import subprocess
import sys
import tempfile
import unittest

LIBRARY, SHOW, *_programs = map(os.path.abspath, sys.argv[1:])
PROGRAMS = {os.path.basename(p).removeprefix("preload-"): p for p in _programs}
# Set by meson; it makes malloc touch every page.
os.environ.pop("MALLOC_PERTURB_", None)


class Case(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = temp.name

    def run_under(self, *command, options="", env=None, **more):
        """The finished process; its standard output is kept."""
        both = "stat_dir=" + self.dir + ("," + options if options else "")
        full = {**os.environ, "LD_PRELOAD": LIBRARY, "QUIRE_OPTIONS": both,
                **(env or {})}
        command = [PROGRAMS.get(command[0], command[0]), *command[1:]]
        return subprocess.run(command, env=full, stdout=subprocess.PIPE,
                              timeout=60, **more)

    def records(self):
        """Process records by pid, each a dictionary of strings."""
        found = {}
        for name in sorted(os.listdir(self.dir)):
            if name.endswith(".record"):
                continue
            text = subprocess.run([SHOW, os.path.join(self.dir, name)],
                                  check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            record = dict(line.split(" ", 1) for line in text.splitlines())
            self.assertEqual(record["pid"], name)
            found[int(name)] = record
        return found

    def record(self):
        """The only one."""
        found = self.records()
        self.assertEqual(len(found), 1, found)
        return next(iter(found.values()))


def main():
    del sys.argv[1:]
    unittest.main(verbosity=2)
