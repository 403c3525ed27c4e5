#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quire bench: its shape, and that it measures what it says.

Sizes are tiny and the machine may be busy: no figure is judged here."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from cli_test import QUIRE, Case, has_json

MIB = 1 << 20
TINY = ("bench", "bigfree", "-q", "-n", "1", "--size", "64M", "--workers",
        "1,2")
TOUCH = ("bench", "page_fault1", "-q", "-n", "1", "--seconds", "0.06",
         "--samples", "2", "--threads", "1,2", "--processes", "1,2")
PAGE = ("bench", "page_bench", "-q", "-n", "1", "--loops", "1000")
# What can run without a package that may not be installed.
OWN = ("quire", "glibc", "mmap")


def pool_pages():
    try:
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/"
                  "free_hugepages") as f:
            return int(f.read())
    except OSError:
        return 0


class BadInput(Case):
    def test_one_line_and_2(self):
        for words in ([], ["nosuch"], ["bigfree", "more"], ["bigfree", "-n"],
                      ["bigfree", "-n", "0"], ["bigfree", "-n", "-1"],
                      ["bigfree", "-n", "1001"], ["bigfree", "--bogus"],
                      ["bigfree", "-Z"], ["bigfree", "--size", ""],
                      ["bigfree", "--size", "0"],
                      ["bigfree", "--size", "-1G"],
                      ["bigfree", "--size", "1X"],
                      ["bigfree", "--size", "1GG"],
                      ["bigfree", "--size", "99999999999999999999"],
                      ["bigfree", "--size", "64T"],
                      ["bigfree", "--size", "1G,2G"],
                      ["bigfree", "--size", "1G", "--scale", "1G"],
                      ["bigfree", "--scale", "1G,,2G"],
                      ["bigfree", "--workers", "0"],
                      ["bigfree", "--workers", "9"],
                      ["bigfree", "--workers", "1,"],
                      ["bigfree", "--pages", "2M"],
                      ["bigfree", "--cases", "nosuch"],
                      ["bigfree", "--busy", "x"], ["bigfree", "--wait", "-1"],
                      ["bigfree", "--size", "64M", "--busy", "64"],
                      ["bigfree", "--threads", "1"],
                      ["page_fault1", "--size", "1G"],
                      ["page_fault1", "--threads", "65"],
                      ["page_fault1", "--processes", "0"],
                      ["page_fault1", "--seconds", "0"],
                      ["page_fault1", "--seconds", "nan"],
                      ["page_fault1", "--samples", "0"],
                      ["page_fault1", "--bodies", "nosuch"],
                      ["page_fault1", "--bodies", "pages,"],
                      ["page_fault1", "--variants", "single"],
                      ["page_fault1", "--cases", "quire"],
                      ["page_bench", "--bodies", "pages"],
                      ["page_bench", "--cases", "munmap"],
                      ["page_bench", "--cases", "quire,,mmap"],
                      ["page_bench", "--variants", ""],
                      ["page_bench", "--variants", "single:2"],
                      ["page_bench", "--variants", "outstanding"],
                      ["page_bench", "--loops", "999"],
                      ["page_bench", "--loops", "100000001"],
                      ["page_bench", "--loops", "1e6"],
                      ["page_bench", "--size", "1G"],
                      ["time_bench", "--cases", "mutex"],
                      ["time_bench", "--loops", "1000"],
                      ["bigfree", "--cases", "quire"],
                      ["all", "--size", "nosuch"], ["all", "--size", "1G"],
                      ["all", "--cases", "quire"],
                      ["bigfree", "-o", "/no/such/dir/f"]):
            if "--busy" in words and os.cpu_count() >= 64:
                continue
            with self.subTest(words=words):
                self.one_line(self.quire("bench", *words, *(
                    ["-q"] if words else [])), 2)

    def test_children_by_hand(self):
        self.one_line(self.quire("bench", ".free"), 2)
        self.one_line(self.quire("bench", ".touch"), 2)
        self.one_line(self.quire("bench", ".touch", "nosuch", "t", "1", "1",
                                 "1"), 2)

    def test_list(self):
        done = self.quire("bench", "list")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([x.split()[0] for x in done.stdout.splitlines()],
                         ["bigfree", "page_fault1", "page_bench",
                          "time_bench", "readtwice", "lru"])


class Child(Case):
    """One release, as the bench has it done."""

    def answers(self, *words, env=None):
        done = self.quire("bench", *words, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {k: float(v) for k, v in
                (line.split() for line in done.stdout.splitlines())}

    def test_resident_before_gone_after(self):
        for case in ("munmap", "handmade:2", "split:2", "split:7",
                     "parallel:1", "parallel:2", "async"):
            for size in (2 * MIB, 64 * MIB, 192 * MIB):
                with self.subTest(case=case, size=size):
                    got = self.answers(".free", case, "4k", size, "quiet")
                    self.assertGreaterEqual(got["resident"], size)
                    self.assertLess(got["left"], 16 * MIB)
                    self.assertGreaterEqual(got["time"], got["blocked"])
                    self.assertGreater(got["blocked"], 0)
                    self.assertGreaterEqual(got["workers"], 1)

    def test_what_does_not_free_is_caught(self):
        """`idle` gives nothing back; as another case it would be an error."""
        got = self.answers(".free", "idle", "4k", 64 * MIB, "quiet")
        self.assertGreaterEqual(got["left"], 64 * MIB - MIB)
        self.assertEqual(got["blocked"], got["time"])

    def test_the_other_thread_faults(self):
        got = self.answers(".free", "idle", "4k", 64 * MIB, "faults")
        self.assertGreater(got["fault_nr"], 1000)
        self.assertLess(1e-8, got["fault_p50"])
        self.assertLessEqual(got["fault_p50"], got["fault_p99"])
        # the window is half a second and what the scheduler adds
        self.assertLess(got["fault_rate"] * 0.49, got["fault_nr"])

    def test_malloc(self):
        got = self.answers(".free", "malloc", "any", 64 * MIB, "quiet")
        self.assertGreaterEqual(got["resident"], 64 * MIB)
        self.assertLess(got["left"], 16 * MIB)

    def test_touch(self):
        for body in ("kernel", "span-zeroed", "pages", "pages-single-aged",
                     "pages-pick", "pages-prefetch-aged"):
            for kind in "tp":
                got = self.answers(".touch", body, kind, "2", "0.02", "3")
                self.assertGreater(got["pages"], 0)
                self.assertEqual(got["pages"], int(got["pages"]))
                self.assertLessEqual(got["task_min"], got["task_max"])
                self.assertLessEqual(got["task_max"], got["pages"] * 4)
                self.assertEqual(body[:5] == "pages", "zone_takes" in got)
                if "zone_takes" in got:
                    # a depot may take all of it
                    if body != "pages":
                        self.assertGreater(got["zone_takes"], 0)
                    self.assertLessEqual(got["zone_contended"],
                                         got["zone_takes"])


class Peers(Case):
    """The programs that page_bench and time_bench start, by themselves."""

    FOLDER = pathlib.Path(QUIRE).parent.parent / "bench/peers"
    OPTIONAL = ("bench-quire-lto", "bench-mempool", "bench-mempool-inline")

    def run_program(self, name, *words):
        done = subprocess.run([self.FOLDER / name, *words], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120, check=False)
        return done, {k: float(v) for k, v in
                      (x.split() for x in done.stdout.splitlines())}

    def test_variants(self):
        there = [x for x in self.OPTIONAL if (self.FOLDER / x).exists()]
        for name in ("bench-quire", "bench-malloc", "bench-mmap", *there):
            for variant in ("single", "outstanding:3", "threads2:64", "cross",
                            "bulk:7", "order:9"):
                with self.subTest(name=name, variant=variant):
                    done, got = self.run_program(name, variant)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertGreater(got[variant + "/pair"], 0)

    def test_aged_share_a_pool(self):
        variants = ["single-aged", "threads2:64-aged", "cross-aged",
                    "bulk:32-aged"]
        done, got = self.run_program("bench-quire", *variants)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({v + "/pair" for v in variants}, set(got))
        done, got = self.run_program("bench-quire", "order:9-aged")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_reserve(self):
        done, got = self.run_program("bench-quire", "reserve:16G")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(got["reserve:16G/metadata"], 0)
        self.assertGreater(got["reserve:16G/metadata_used"], 0)

    def test_refused(self):
        for words in ([], [""], ["nosuch"], ["single:1"], ["outstanding"],
                      ["outstanding:0"], ["outstanding:99999"], ["order:11"],
                      ["bulk:-1"], ["reserve:1"], ["reserve:1G-aged"],
                      ["reserve:9999T"], ["single", "single-aged"],
                      ["single", "order:9"], ["single"] * 17):
            with self.subTest(words=words):
                done, _ = self.run_program("bench-malloc", *words)
                self.one_line(done, 2)
        for words in ([], ["999"], ["x"], ["1000", "1"]):
            done, _ = self.run_program("bench-tests", *words)
            self.one_line(done, 2)

    def test_it_adds_up(self):
        done, got = self.run_program("bench-tests", "1000")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {k.rsplit("/", 1)[0] for k in got if k.endswith("/elem")}
        for nr in range(1, 7):
            self.assertTrue(any(n.startswith(f"page_bench0{nr}:")
                                for n in names))
        for name in names:
            self.assertGreaterEqual(got[name + "/invoked"], 1000)
            self.assertAlmostEqual(
                got[name + "/elem"],
                got[name + "/time_interval"] / got[name + "/invoked"],
                delta=1e-6 * got[name + "/elem"])
            if name + "/cycles" in got:
                self.assertEqual(
                    got[name + "/cycles"],
                    got[name + "/tsc_interval"] // got[name + "/invoked"])
        self.assertEqual(got["page_bench01:order:9/step"], 9)
        self.assertEqual(got["page_bench02:outstanding:8192/invoked"], 8192)
        self.assertEqual(sum(v for k, v in got.items()
                             if k.endswith("/share")), 1)


@unittest.skipUnless(has_json(), "built without jansson")
class Shape(Case):
    def result(self, *words):
        done = self.quire(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.left_nothing()
        return json.loads(done.stdout)

    def check_rows(self, result, bench, rounds):
        self.assertEqual(result["schema"], 1)
        for row in result["rows"]:
            self.assertEqual(row["bench"], bench)
            self.assertIn(row["better"], ("lower", "higher"))
            self.assertEqual(len(row["samples"]), rounds, row)
            self.assertTrue(row["unit"])

    def test_bigfree(self):
        result = self.result(*TINY, "-n", "2")
        self.check_rows(result, "bigfree", 2)
        rows = {(r["case"], r["variant"], r["metric"]): r["samples"]
                for r in result["rows"]}
        for case in ("munmap", "handmade:2", "parallel:1", "parallel:2",
                     "async", "split:2"):
            self.assertGreater(min(rows[case, "64M,4k", "time"]), 0)
            self.assertGreaterEqual(min(rows[case, "64M,4k", "resident"]),
                                    64 * MIB)
            self.assertIn((case, "64M,4k", "fault_rate"), rows)
        self.assertIn(("idle", "64M,4k", "fault_p50"), rows)
        self.assertNotIn(("split:1", "64M,4k", "time"), rows)
        # kept for the next one, and so served by the library
        self.assertGreater(min(rows["malloc-quire", "64M,any", "left"]),
                           32 * MIB)
        self.assertLess(max(rows["malloc", "64M,any", "left"]), 16 * MIB)
        self.assertIn(("machine", "", "other_load"), rows)

    def test_pool_without_pages(self):
        need = pool_pages() + 1
        result = self.result("bench", "bigfree", "-q", "-n", "1", "--pages",
                             "hugetlb", "--cases", "handmade", "--size",
                             f"{2 * max(need, 8)}M")
        if need <= 8 and pool_pages() >= 8:
            return
        self.assertIn("not available", "".join(
            result["params"]["not_run"].values()))
        self.assertIn(f"{need - 1} free pages", "".join(
            result["params"]["not_run"].values()))

    def test_scale(self):
        result = self.result("bench", "bigfree", "-q", "-n", "1", "--pages",
                             "4k", "--scale", "64M,128M", "--cases",
                             "parallel", "--workers", "2")
        self.check_rows(result, "bigfree", 1)
        rows = {(r["case"], r["variant"]) for r in result["rows"]
                if r["metric"] == "time"}
        self.assertEqual(rows, {(c, v) for c in ("munmap", "parallel:2")
                                for v in ("64M,4k", "128M,4k")})

    def test_busy(self):
        out = str(self.dir / "o.json")
        result = self.result(*TINY, "--pages", "4k", "--cases", "parallel",
                             "--busy", "1", "-o", out)
        self.assertEqual(result["params"]["busy"], 1)
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                self.assertNotIn(out.encode(),
                                 (proc / "cmdline").read_bytes())
            except OSError:
                continue

    def test_page_fault1(self):
        bodies = ("kernel", "span", "span-zeroed", "pages",
                  "pages-prefetch-aged")
        result = self.result(*TOUCH, "--bodies", ",".join(bodies))
        self.check_rows(result, "page_fault1", 1)
        rows = {(r["case"], r["variant"]): r["samples"]
                for r in result["rows"] if r["metric"] == "pages"}
        for body in bodies:
            for variant in ("t1", "t2", "p1", "p2"):
                self.assertGreater(rows[body, variant][0], 0)

    def test_bodies(self):
        result = self.result(*TOUCH, "--bodies", "pages-pick")
        self.assertEqual({r["case"] for r in result["rows"]},
                         {"kernel", "pages-pick", "machine"})

    def test_page_bench(self):
        result = self.result(*PAGE, "-n", "2", "--cases", ",".join(OWN),
                             "--variants",
                             "single,cross,single-aged,reserve:1G,tests")
        self.check_rows(result, "page_bench", 2)
        rows = {(r["case"], r["variant"], r["metric"]): r["samples"]
                for r in result["rows"]}
        for case in OWN:
            for variant in ("single", "cross"):
                self.assertGreater(min(rows[case, variant, "pair"]), 0)
        self.assertIn(("quire", "single-aged", "pair"), rows)
        self.assertNotIn(("mmap", "single-aged", "pair"), rows)
        self.assertIn(("quire", "reserve:1G", "metadata"), rows)
        self.assertNotIn(("glibc", "reserve:1G", "pair"), rows)
        self.assertIn(("quire", "page_bench02:outstanding:64", "elem"), rows)
        self.assertEqual(result["params"]["loops"], 1000)
        self.assertIn("mmap, aged", result["params"]["not_run"])

    def test_missing_is_named(self):
        result = self.result(*PAGE, "--cases", "mmap,mempool", "--variants",
                             "single")
        cases = {r["case"] for r in result["rows"]}
        self.assertEqual("mempool" in cases,
                         "mempool" not in result["params"]["not_run"])

    def test_time_bench(self):
        result = self.result("bench", "time_bench", "-q", "-n", "2")
        self.check_rows(result, "time_bench", 2)
        rows = {(r["case"], r["metric"]): r["samples"]
                for r in result["rows"]}
        for case in ("empty_loop", "mutex", "signals", "page_lock",
                     "page_mask", "page_off"):
            self.assertGreater(min(rows[case, "elem"]), 0)
        for case in ("rseq_cpu_id", "page_rseq"):
            self.assertEqual((case, "elem") in rows,
                             case not in result["params"].get("not_run", {}))

    def test_lines(self):
        done = self.quire(*PAGE, "--cases", "quire", "--variants", "tests")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = re.compile(
            r"Type:page_bench0[1-6]:\S+ Per elem: \d+ cycles\(tsc\) "
            r"\d+\.\d{3} ns \(step:\d+\) - \(measurement period time:"
            r"\d+\.\d{9} sec time_interval:\d+\) - \(invoke count:\d+ "
            r"tsc_interval:\d+\)")
        lines = [x for x in done.stdout.splitlines() if x.startswith("Type:")]
        self.assertGreater(len(lines), 50)
        for x in lines:
            self.assertRegex(x, line)

    def test_tables(self):
        for words in ((*PAGE, "--cases", ",".join(OWN), "--variants",
                       "single,single-aged,reserve:1G,reserve:16G"),
                      ("bench", "time_bench", "-q", "-n", "1")):
            done = self.quire(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("nan", done.stdout)
            for x in done.stdout.splitlines():
                self.assertLessEqual(len(x), 100, x)

    def test_file_and_table(self):
        out = self.dir / "o.json"
        done = self.quire(*TINY, "--pages", "4k", "--cases", "handmade", "-o",
                          out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("handmade:2", done.stdout)
        self.assertIn("/idle", done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)
        json.loads(out.read_text())


class Refused(Case):
    def test_too_big(self):
        done = self.quire("bench", "bigfree", "-q", "--size", "32T")
        self.one_line(done, 2)
        self.assertIn("available", done.stderr)

    def test_without_the_library(self):
        lonely = self.dir / "quire"
        lonely.write_bytes(open(QUIRE, "rb").read())
        lonely.chmod(0o755)
        done = subprocess.run([lonely, *TINY, "--cases", "malloc-quire"],
                              env={**self.env, "QUIRE_LIBDIR": "/nowhere"},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120, check=False)
        if done.returncode == 0:
            self.skipTest("it is installed on this machine")
        self.assertEqual(done.returncode, 125)
        self.assertIn("libquire-preload.so is not found", done.stderr)

    def test_stopped(self):
        with subprocess.Popen([QUIRE, *TINY, "-n", "1000", "--busy", "1"],
                              env=self.env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as job:
            time.sleep(1)
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=60)
            self.assertEqual(job.returncode, 128 + signal.SIGTERM)
        self.left_nothing()


if __name__ == "__main__":
    unittest.main()
