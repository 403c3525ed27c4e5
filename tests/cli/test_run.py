#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quire run: not noticed by the command, honest about what it did."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cli_test import BIG_C, CC, QUIRE, Case, has_json


class ExitCodes(Case):
    def test_passed_through(self):
        for code in (0, 1, 2, 7, 125, 126, 127, 255):
            done = self.quire("run", "--", "sh", "-c", f"exit {code}")
            self.assertEqual(done.returncode, code)

    def test_signals(self):
        for sig in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            done = self.quire("run", "--", "sh", "-c", f"kill -{int(sig)} $$")
            self.assertEqual(done.returncode, 128 + sig)

    def test_not_found(self):
        self.one_line(self.quire("run", "--", "no-such-command-here"), 127)
        self.one_line(self.quire("run", "--", "/no/such/file"), 127)
        self.one_line(self.quire("run", "--", ""), 127)

    def test_not_executable(self):
        path = self.script("plain", "x", 0o644)
        self.one_line(self.quire("run", "--", path), 126)
        self.one_line(self.quire("run", "--", self.dir), 126)

    def test_missing_interpreter(self):
        path = self.script("s", "#!/no/such/interpreter\n")
        self.one_line(self.quire("run", "--", path), 127)

    def test_script_without_interpreter_line(self):
        path = self.script("s", "exit 9\n")
        self.assertEqual(self.quire("run", "--", path).returncode, 9)

    def test_own_failure(self):
        done = self.quire("run", "--", "true",
                          env={"QUIRE_LIBDIR": "/no/such/folder"})
        self.one_line(done, 125)
        done = self.quire("run", "--", "true", env={"TMPDIR": "/no/such"})
        self.one_line(done, 125)


class BadInput(Case):
    def test_one_line_and_2(self):
        for words in (["run"], ["run", "--"], ["run", "--bogus", "true"],
                      ["run", "-Z", "true"], ["run", "--decay"],
                      ["run", "--decay", "10m", "true"],
                      ["run", "--threshold", "0", "true"],
                      ["run", "--threshold", "", "true"],
                      ["run", "--keep", "-1", "true"],
                      ["run", "--thp", "sometimes", "true"],
                      ["run", "--reserve", "101", "true"],
                      ["run", "--strict=1", "true"],
                      ["run", "-o", "/no/such/dir/f", "true"],
                      ["run", "-o", str(self.dir), "true"],
                      ["bogus"], ["--bogus"]):
            with self.subTest(words=words):
                self.one_line(self.quire(*words), 2)

    def test_no_verb(self):
        done = self.quire()
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)

    def test_help_and_version(self):
        self.assertRegex(self.quire("--version").stdout, r"^quire \d+\.\d+")
        for words in (["--help"], ["run", "--help"], ["measure", "--help"],
                      ["env", "--help"]):
            done = self.quire(*words)
            self.assertEqual(done.returncode, 0)
            self.assertIn("usage", done.stdout)
            self.assertEqual(done.stderr, "")


class Transparent(Case):
    def test_stdin_and_stdout(self):
        done = self.quire("run", "-q", "--", "cat", input="a\nb\n")
        self.assertEqual((done.stdout, done.stderr), ("a\nb\n", ""))

    def test_options_of_the_command_are_its_own(self):
        done = self.quire("run", "-q", "echo", "-n", "--decay", "--help")
        self.assertEqual(done.stdout, "--decay --help")

    def test_environment_is_extended(self):
        lib = self.compiled("int nothing_at_all;", "theirs.so", "-shared",
                            "-fPIC")
        done = self.quire("run", "-q", "--decay", "5s", "--", "env", env={
            "LD_PRELOAD": str(lib), "QUIRE_OPTIONS": "keep=8M",
            "GLIBC_TUNABLES": "glibc.malloc.check=0"})
        out = dict(line.split("=", 1) for line in done.stdout.splitlines()
                   if "=" in line)
        ours, theirs = out["LD_PRELOAD"].split(":")
        self.assertTrue(ours.endswith("libquire-preload.so"))
        self.assertTrue(os.path.isabs(ours))
        self.assertEqual(theirs, str(lib))
        self.assertEqual(out["GLIBC_TUNABLES"], "glibc.malloc.check=0")
        self.assertTrue(out["QUIRE_OPTIONS"].startswith(
            "keep=8M,decay=5s,stat_dir="), out["QUIRE_OPTIONS"])

    def test_ten_lines_at_most(self):
        prog = self.compiled(BIG_C)
        done = self.quire("run", "--decay", "0", "--", prog, 512, 100)
        self.assertLessEqual(len(done.stderr.splitlines()), 10)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("quire: "), line)
        self.left_nothing()

    def test_ignored_signals_stay_ignored(self):
        show = "import signal; print(*[signal.getsignal(s).name for s in " \
               "(signal.SIGHUP, signal.SIGUSR1)])"
        both = []
        for prefix in ([], [QUIRE, "run", "-q", "--"]):
            shell = 'trap "" HUP; exec "$@"'
            done = subprocess.run(
                ["sh", "-c", shell, "sh", *prefix, sys.executable, "-c", show],
                stdout=subprocess.PIPE, env=self.env, text=True, check=True)
            both.append(done.stdout)
        self.assertEqual(both[0], both[1])
        self.assertIn("SIG_IGN", both[0])


class Signals(Case):
    def start(self, shell):
        proc = subprocess.Popen([QUIRE, "run", "-q", "--", "sh", "-c", shell],
                                stdout=subprocess.PIPE, env=self.env,
                                stderr=subprocess.PIPE, text=True,
                                start_new_session=True)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.stderr.close)
        self.assertEqual(proc.stdout.readline(), "up\n")
        time.sleep(0.3)     # a shell may lose a signal that comes at once
        return proc

    def test_term_is_passed_on(self):
        proc = self.start("trap 'exit 3' TERM; echo up; "
                          "while :; do sleep 0.05; done")
        proc.send_signal(signal.SIGTERM)
        self.assertEqual(proc.wait(20), 3)
        self.left_nothing()

    def test_term_kills(self):
        proc = self.start("echo up; exec sleep 30")
        proc.send_signal(signal.SIGTERM)
        self.assertEqual(proc.wait(20), 128 + signal.SIGTERM)
        self.left_nothing()

    def test_int_of_the_terminal_is_the_commands(self):
        proc = self.start("trap 'sleep 0.2; exit 4' INT; echo up; "
                          "while :; do sleep 0.05; done")
        os.killpg(proc.pid, signal.SIGINT)
        self.assertEqual(proc.wait(20), 4)
        self.left_nothing()


class Applied(Case):
    def test_big_blocks_are_reused(self):
        done = self.quire("run", "--", self.compiled(BIG_C), 1024, 100)
        self.assertRegex(done.stderr, r"19\d of 200 big blocks re-used")
        self.assertNotIn("not applied", done.stderr)
        done = self.quire("run", "--strict", "-q", "--",
                          self.compiled(BIG_C), 1024, 10, 6)
        self.assertEqual((done.returncode, done.stderr), (6, ""))

    def test_no_big_block(self):
        done = self.quire("run", "--", "true")
        self.assertIn("no block was as big as the threshold", done.stderr)

    def test_shell_with_children(self):
        prog = self.compiled(BIG_C)
        done = self.quire("run", "--", "sh", "-c",
                          f"{prog} 512 10; {prog} 512 10; true")
        self.assertIn("of 40 big blocks", done.stderr)
        self.assertIn("3 processes", done.stderr)

    def test_script_chain(self):
        prog = self.compiled(BIG_C)
        shell = self.script("s", f"#!/bin/sh\nexec {prog} 512 10 5\n")
        chain = self.script("c", f"#!/usr/bin/env -S sh\n{shell}\n")
        for path in (shell, chain):
            done = self.quire("run", "--strict", "--", path)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("of 20 big blocks", done.stderr)

    def test_path_with_a_space(self):
        libs = self.dir / "a folder: x"
        libs.mkdir()
        done = self.quire("run", "-q", "--", "env")
        line = next(x for x in done.stdout.splitlines()
                    if x.startswith("LD_PRELOAD="))
        shutil.copy(line.split("=", 1)[1], libs)
        prog = self.compiled(BIG_C)
        shutil.copy(prog, libs / "my prog")
        done = self.quire("run", "--strict", "--", libs / "my prog", 512, 10,
                          env={"QUIRE_LIBDIR": str(libs)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("of 20 big blocks", done.stderr)
        self.left_nothing()
        self.one_line(self.quire("env", env={"QUIRE_LIBDIR": str(libs)}), 2)

    def test_options_reach_the_library(self):
        prog = self.compiled(BIG_C)
        done = self.quire("run", "--threshold", "1M", "--", prog, 512, 10)
        self.assertIn("no block was as big", done.stderr)

    def test_verbose_prints_counters(self):
        done = self.quire("run", "-v", "--", self.compiled(BIG_C), 512, 10)
        self.assertIn("span_alloc 20 blocks", done.stderr)
        for more in ((), ("--decay", "0"), ("--keep", "1M"), ("--shards", "1")):
            done = self.quire("run", "-v", *more, "--", self.compiled(BIG_C),
                              900, 30)
            self.assertNotIn("add up", done.stderr)


class NotApplied(Case):
    def refused(self, path, why, *more):
        done = self.quire("run", "--", path)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("not applied", done.stderr)
        self.assertIn(why, done.stderr)
        done = self.quire("run", "--strict", "--", path)
        self.assertEqual(done.returncode, 125)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(why, done.stderr)

    def test_static(self):
        prog = self.compiled("int main(void){return 5;}", "st", "-static")
        self.refused(prog, "static")
        self.refused(self.script("s", f"#!{prog}\n"), "static")

    def test_musl(self):
        if not shutil.which("musl-gcc"):
            self.skipTest("no musl-gcc")
        src = self.dir / "m.c"
        src.write_text("int main(void){return 5;}")
        prog = self.dir / "m"
        subprocess.run(["musl-gcc", "-o", prog, src], check=True)
        self.refused(prog, "musl")

    def test_32_bit(self):
        prog = self.compiled("int main(void){return 5;}", "m32")
        bytes_ = bytearray(prog.read_bytes())
        bytes_[4] = 1      # ELFCLASS32: not executable here, but looked at
        prog.write_bytes(bytes_)
        done = self.quire("run", "--strict", "--", prog)
        self.assertEqual(done.returncode, 125)
        self.assertIn("architecture", done.stderr)

    def test_address_sanitizer(self):
        try:
            prog = self.compiled("int main(void){return 5;}", "asan",
                                 "-fsanitize=address",
                                 "-shared-libasan" if "clang" in CC
                                 else "-Wall")
        except subprocess.CalledProcessError:
            self.skipTest("no AddressSanitizer")
        if subprocess.run([prog], env=self.env).returncode != 5:
            self.skipTest("its library is not installed")
        self.refused(prog, "AddressSanitizer")

    def test_own_malloc(self):
        prog = self.compiled(r"""
            #include <stddef.h>
            static char pool[1 << 20];
            static size_t at;
            void *malloc(size_t n)
            {
                at += (n + 15) & ~15ul;
                return pool + at;
            }
            void free(void *p) { (void)p; }
            void *calloc(size_t a, size_t b) { return malloc(a * b); }
            void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
            int main(void) { return malloc(10) ? 5 : 1; }
        """, "own", "-fno-builtin", "-rdynamic")
        self.refused(prog, "own malloc")

    def test_cleaned_environment(self):
        prog = self.compiled(BIG_C)
        done = self.quire("run", "--", "env", "-i", prog, 512, 10, 5)
        self.assertEqual(done.returncode, 5)
        self.assertIn("not applied", done.stderr)
        self.assertIn("environment cleaned", done.stderr)
        ran = self.dir / "ran"
        done = self.quire("run", "--strict", "--", "env", "-i", "sh", "-c",
                          f"echo > {ran}")
        self.assertEqual(done.returncode, 125)
        self.assertTrue(ran.exists())   # only the end could tell

    def test_strict_refuses_before_it_runs(self):
        ran = self.dir / "ran"
        prog = self.compiled(
            '#include <fcntl.h>\nint main(int c, char **v)'
            '{return open(v[1], O_CREAT | O_RDWR, 0600) < 0;}', "st",
            "-static")
        self.quire("run", "--strict", "--", prog, ran)
        self.assertFalse(ran.exists())
        self.quire("run", "--", prog, ran)
        self.assertTrue(ran.exists())

    @unittest.skipIf(os.geteuid(), "needs root to make a set-uid program")
    def test_set_uid(self):
        prog = self.compiled("int main(void){return 5;}", "suid")
        os.chown(prog, 65534, 65534)
        prog.chmod(0o4755)
        self.refused(prog, "set-uid")


@unittest.skipUnless(has_json(), "built without jansson")
class Json(Case):
    def test_shape(self):
        out = self.dir / "o.json"
        done = self.quire("run", "-q", "-o", out, "--",
                          self.compiled(BIG_C), 512, 10, 3)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        result = json.loads(out.read_text())
        self.assertEqual(result["schema"], 1)
        self.assertEqual(result["params"]["exit_code"], 3)
        self.assertNotIn("no_effect", result["params"])
        counters = result["params"]["processes"][0]["counters"]
        self.assertEqual(counters["span_alloc"], 20)
        rows = self.rows_of(result)
        self.assertGreater(rows["quire", "wall"][0], 0)
        self.assertGreater(rows["quire", "peak_rss"][0], 1 << 20)
        for row in result["rows"]:
            self.assertEqual(set(row), {"bench", "case", "variant", "metric",
                                        "unit", "better", "samples"})

    def test_standard_output(self):
        done = self.quire("run", "-q", "-o", "-", "--", "true")
        self.assertEqual(json.loads(done.stdout)["schema"], 1)
        self.assertFalse((self.dir / "-").exists())

    def test_not_applied_is_in_it(self):
        out = self.dir / "o.json"
        self.quire("run", "-o", out, "--", "env", "-i", "true")
        result = json.loads(out.read_text())
        self.assertIn("quire", result["params"]["no_effect"])


if __name__ == "__main__":
    unittest.main()
