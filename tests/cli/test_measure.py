#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quire measure: fair to every row, honest about those without effect."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

from cli_test import BIG_C, QUIRE, Case, has_json

FAST = ("measure", "-n", "5", "--no-record")
FAST_ROWS = (*FAST, "--rows", "env,quire")


class BadInput(Case):
    def test_one_line_and_2(self):
        for words in (["-n", "0"], ["-n", "-1"], ["-n", "x"], ["-n", ""],
                      ["-n", "1001"], ["-n"], ["--warmup", "0"],
                      ["--timeout", "0"], ["--rows", "nosuch"],
                      ["--rows", "env,,quire"], ["--bogus"], ["-Z"],
                      ["--fail-if", "wall"], ["--fail-if", "wall>3%"],
                      ["--fail-if", "nosuch>+3%"], ["--fail-if", ""],
                      ["--rows", "env", "--fail-if", "wall>+3%"],
                      ["-n", "4", "--fail-if", "wall>+3%"],
                      ["-o", "/no/such/dir/f"], ["--decay", "x"]):
            with self.subTest(words=words):
                self.one_line(self.quire("measure", *words, "--", "true"), 2)

    def test_no_command(self):
        self.one_line(self.quire("measure"), 2)
        self.one_line(self.quire("measure", "-n", "5", "--"), 2)

    def test_command_that_does_not_start(self):
        self.one_line(self.quire(*FAST, "--", "no-such-command"), 127)
        self.one_line(self.quire(*FAST, "--", self.script("x", "", 0o644)),
                      126)
        done = self.quire(*FAST, "--", "sh", "-c", "no-such-command")
        self.assertEqual(done.returncode, 127)


class Fair(Case):
    def runs(self, *options):
        """Start the command; return what each of its runs noted."""
        log = self.dir / "log"
        note = self.script("note", "#!/bin/sh\n"
                           f"echo \"$LD_PRELOAD|$GLIBC_TUNABLES|"
                           f"$QUIRE_OPTIONS|$(cat)\" >> {log}\n")
        done = self.quire(*FAST, *options, "--", note,
                          input="the input\n", env={
                              "LD_PRELOAD": "/lib/theirs.so",
                              "GLIBC_TUNABLES": "glibc.malloc.check=0"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split("|") for line in log.read_text().splitlines()], \
            done

    def test_every_run_has_the_users_own(self):
        runs, _ = self.runs("--rows", "env")
        self.assertEqual(len(runs), 2 + 2 * 5)
        for preload, tunables, options, stdin in runs:
            self.assertTrue(preload.endswith(":/lib/theirs.so"), preload)
            self.assertTrue(tunables.startswith("glibc.malloc.check=0"))
            self.assertIn("stat_dir=", options)
            self.assertEqual(stdin, "the input")
        self.left_nothing()

    def test_rows_alternate(self):
        runs, _ = self.runs("--rows", "env")
        order = ["mmap_max=0" in run[1] for run in runs[2:]]
        for i in range(0, 10, 2):
            self.assertNotEqual(order[i], order[i + 1])
        self.assertIn(True, order[0::2])
        self.assertIn(False, order[0::2])

    def test_stdin_from_a_file(self):
        data = self.dir / "data"
        data.write_text("skipped\nkept\n")
        log = self.dir / "log"
        with open(data, encoding="ascii") as f:
            os.lseek(f.fileno(), 8, os.SEEK_SET)
            done = self.quire(*FAST_ROWS, "--", "sh", "-c",
                              f"cat >> {log}", stdin=f)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(log.read_text().splitlines()), {"kept"})

    def test_output_of_the_first_run_only(self):
        done = self.quire(*FAST_ROWS, "--", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(done.stdout.count("out\n"), 1)
        self.assertEqual(done.stderr.count("err\n"), 1)
        done = self.quire(*FAST_ROWS, "--show", "--", "echo", "out")
        self.assertGreaterEqual(done.stdout.count("out\n"), 12)

    def test_says_how_often(self):
        done = self.quire(*FAST_ROWS, "--", "true")
        self.assertIn("up to 18 times", done.stderr)
        self.assertEqual(
            self.quire(*FAST_ROWS, "-q", "--", "true").stderr, "")


class Rows(Case):
    def test_quire_has_an_effect(self):
        done = self.quire(*FAST_ROWS, "--", self.compiled(BIG_C), 2048, 50)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^as-is +\d")
        self.assertRegex(done.stdout, r"(?m)^quire +\d.* less")
        self.assertRegex(done.stdout, r"(?m)^env +\d.* less")
        self.assertIn("prescription: ", done.stdout)

    def test_no_big_block_is_no_effect(self):
        done = self.quire(*FAST_ROWS, "--", "true")
        self.assertRegex(done.stdout,
                         r"(?m)^quire +no effect: no block is as big")

    def test_static_program(self):
        prog = self.compiled("int main(void){return 0;}", "st", "-static")
        done = self.quire(*FAST_ROWS, "--", prog)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^quire +no effect: .*static")
        self.assertIn("quire cannot serve it", done.stderr)

    def test_threshold_reaches_the_row(self):
        done = self.quire(*FAST_ROWS, "--threshold", "64M", "--",
                          self.compiled(BIG_C), 512, 5)
        self.assertRegex(done.stdout, r"(?m)^quire +no effect")

    def test_killed_runs_have_no_exit_time(self):
        done = self.quire(*FAST_ROWS, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 0)
        self.assertIn("ends with 137", done.stderr)
        as_is = re.search(r"(?m)^as-is.*$", done.stdout).group()
        self.assertTrue(as_is.rstrip().endswith("–"), as_is)

    def test_exit_codes_that_differ(self):
        done = self.quire(*FAST_ROWS, "--", "sh", "-c",
                          'case "$GLIBC_TUNABLES" in *mmap*) exit 3;; esac')
        self.assertEqual(done.returncode, 0)
        self.assertIn("env: the command ends with 3, as-is with 0",
                      done.stderr)
        self.assertNotIn("prescription: env", done.stdout)

    def test_program_that_a_preload_would_end(self):
        if not shutil.which("musl-gcc"):
            self.skipTest("no musl-gcc")
        src, prog = self.dir / "m.c", self.dir / "m"
        src.write_text("int main(void){return 0;}")
        subprocess.run(["musl-gcc", "-o", prog, src], check=True)
        done = self.quire(*FAST_ROWS, "--", prog)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "quire +no effect: it uses musl")
        self.assertNotIn("Error relocating", done.stderr)

    def test_timeout(self):
        done = self.quire("measure", "-n", "1", "--rows", "as-is",
                          "--no-record", "--timeout", "1", "--", "sh", "-c",
                          "sleep 20; true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("2 runs were ended after 1 s", done.stderr)

    def test_few_rounds_claim_nothing(self):
        done = self.quire("measure", "-n", "2", "--no-record", "--rows",
                          "env", "--", self.compiled(BIG_C), 2048, 20)
        self.assertIn("too few runs", done.stdout)

    def test_fits_100_columns_without_colour(self):
        done = self.quire(*FAST, "--", self.compiled(BIG_C), 512, 20)
        self.assertNotIn("\033", done.stdout + done.stderr)
        table = done.stdout.split("prescription:")[0].splitlines()
        self.assertTrue(all(len(x) <= 100 for x in table), table)


class Recorder(Case):
    def test_says_what_it_saw(self):
        prog = self.compiled(BIG_C)
        done = self.quire("measure", "-n", "5", "--rows", "quire", "--", prog,
                          4096, 40)
        self.assertRegex(done.stdout, r"seen: 80 blocks of 4.0 MiB; \d+ % of "
                                      r"system time is faulting them again; "
                                      r"site: ")
        self.assertRegex(done.stdout, r"prescription: quire, [\d.]+ % less")
        self.assertIn("quire run -- ", done.stdout)

    def test_nothing_to_gain(self):
        done = self.quire("measure", "-n", "5", "--rows", "quire", "--",
                          "sh", "-c",
                          "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
        self.assertRegex(done.stdout, r"nothing to gain here: (100|9\d)[.\d]* "
                                      r"% of the time is not memory at all")
        self.assertIn("seen: no block of 128 KiB or more", done.stdout)


class FailIf(Case):
    def test_holds(self):
        prog = self.compiled(BIG_C)
        done = self.quire(*FAST_ROWS, "--fail-if", "wall<-10%", "--fail-if",
                          "wall>+900%", "--", prog, 4096, 50)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--fail-if 'wall<-10%' holds", done.stderr)
        self.assertNotIn("900", done.stderr)

    def test_does_not_hold(self):
        done = self.quire(*FAST_ROWS, "--fail-if", "wall>+3%", "--",
                          self.compiled(BIG_C), 4096, 50)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_effect_is_as_is(self):
        for cond, code in (("wall>+3%", 0), ("wall>-10%", 3)):
            done = self.quire(*FAST_ROWS, "--fail-if", cond, "--", "true")
            self.assertEqual(done.returncode, code)


    def test_fails_in_one_row_only(self):
        """A gate must not pass because the program broke: with big blocks,
        and where the row turns out to have no effect."""
        fails = 'case "$LD_PRELOAD" in *libquire-preload*) exit 9;; esac'
        for prog in (f"{self.compiled(BIG_C)} 1024 20;", ""):
            done = self.quire(*FAST_ROWS, "--fail-if", "wall>+900%", "--",
                              "sh", "-c", prog + fails)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("quire: the command ends with 9, as-is with 0",
                          done.stderr)
            self.assertIn("'wall>+900%' holds: the command ends otherwise",
                          done.stderr)

    def test_failing_always_is_no_difference(self):
        done = self.quire(*FAST_ROWS, "--fail-if", "wall>+900%", "--",
                          "sh", "-c", "exit 3")
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(has_json(), "built without jansson")
class Json(Case):
    def test_stdout_is_json_alone(self):
        out = self.dir / "o.json"
        done = self.quire("measure", "-n", "5", "--rows", "thp,env,quire",
                          "--json", "-o", out, "--", "sh", "-c",
                          f"echo noise; {self.compiled(BIG_C)} 1024 20")
        result = json.loads(done.stdout)
        self.assertEqual(json.loads(out.read_text()), result)
        self.assertEqual(result["schema"], 1)
        self.assertIn("noise", done.stderr)
        rows = self.rows_of(result)
        for name in ("as-is", "env", "quire"):
            for metric in ("wall", "user", "system", "faults", "peak_rss",
                           "end_rss", "exit"):
                self.assertEqual(len(rows[name, metric]), 5)
        self.assertGreater(min(rows["as-is", "faults"]),
                           max(rows["quire", "faults"]))
        for row in result["rows"]:
            self.assertEqual((row["bench"], row["variant"], row["better"]),
                             ("measure", "", "lower"))
        self.assertEqual(result["params"]["rounds"], 5)
        self.assertGreater(result["params"]["big_blocks"], 0)

    def test_rows_without_effect_are_named(self):
        done = self.quire(*FAST_ROWS, "--json", "--", "true")
        result = json.loads(done.stdout)
        self.assertIn("quire", result["params"]["no_effect"])
        self.assertNotIn("quire", {r["case"] for r in result["rows"]})


class Interrupted(Case):
    def test_ends_and_leaves_nothing(self):
        for sig in (signal.SIGINT, signal.SIGTERM):
            proc = subprocess.Popen(
                [QUIRE, "measure", "--", "sh", "-c", "echo up; sleep 30"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=self.env, text=True,
                start_new_session=True)
            self.assertEqual(proc.stdout.readline(), "up\n")
            time.sleep(0.3)     # a shell may lose a signal that comes at once
            os.killpg(proc.pid, sig)
            self.assertEqual(proc.wait(20), 128 + sig)
            proc.stdout.close()
            self.left_nothing()


class Terminal(Case):
    def on_terminal(self, env):
        main, side = pty.openpty()
        proc = subprocess.Popen([QUIRE, *FAST_ROWS, "--", "true"],
                                stdin=subprocess.DEVNULL, stdout=side,
                                stderr=side, env={**self.env, **env})
        os.close(side)
        text = b""
        try:
            while True:
                chunk = os.read(main, 65536)
                if not chunk:
                    break
                text += chunk
        except OSError:
            pass
        os.close(main)
        self.assertEqual(proc.wait(20), 0)
        return text.decode()

    def test_progress_and_colour(self):
        self.env.pop("NO_COLOR", None)
        text = self.on_terminal({"TERM": "xterm"})
        self.assertRegex(text, r"run \d+ of \d+: \S+, .* left")
        self.assertIn("\033[2m", text)
        text = self.on_terminal({"TERM": "xterm", "NO_COLOR": "1"})
        self.assertNotRegex(text, "\033\\[\\d+m")


if __name__ == "__main__":
    unittest.main()
