# SPDX-License-Identifier: MIT
"""libquire-record.so: the counts, on programs whose calls are known."""
import os
import shutil
import subprocess
import unittest

from quire_test import Case, main, LIBRARY, PROGRAMS


def pairs(words):
    return dict(zip(words[::2], words[1::2]))


class Recorded:
    """One DIR/PID.record."""

    def __init__(self, path):
        with open(path) as file:
            lines = file.read().splitlines()
        self.classes, self.sites, self.head = {}, [], {}
        assert lines[0] == "quire-record 1" and lines[-1] == "end", lines
        for line in lines[1:-1]:
            key, *words = line.split(" ")
            if key == "total":
                self.total = {k: int(v) for k, v in pairs(words).items()}
            elif key == "class":
                self.classes[int(words[0])] = {
                    k: float(v) for k, v in pairs(words[1:]).items()}
            elif key == "site":
                blocks, size, pages, where, frames = words
                self.sites.append((int(blocks), int(size), int(pages), where,
                                   frames.split(";")))
            else:
                self.head[key] = " ".join(words)


class Counts(Case):
    def recorded(self):
        return {int(name.split(".")[0]): Recorded(os.path.join(self.dir, name))
                for name in os.listdir(self.dir) if name.endswith(".record")}

    def one(self, *command, **more):
        done = self.run_under(*command, **more)
        self.assertEqual(done.returncode, 0)
        found = self.recorded()
        self.assertEqual(len(found), 1)
        return next(iter(found.values()))

    def test_blocks_used_again(self):
        r = self.one("big", "50", "8388608")
        self.assertEqual(r.total["blocks"], 50)
        self.assertEqual(r.total["bytes"], 50 << 23)
        self.assertEqual(r.total["reused"], 49)
        self.assertEqual(r.total["live_bytes"], 0)
        self.assertEqual(r.total["live_bytes_peak"], 1 << 23)
        # 2048 pages and the one with the header, which is there already.
        self.assertAlmostEqual(r.total["refaulted_pages"], 49 * 2048, delta=49)
        self.assertAlmostEqual(r.total["first_pages"], 2048, delta=1)
        self.assertGreater(r.total["page_ns"], 0)
        c = r.classes[8388608]
        self.assertEqual((c["min"], c["max"], c["blocks"], c["common_blocks"],
                          c["live_peak"], c["reused"]),
                         (8388608, 8388608, 50, 50, 1, 49))
        self.assertLess(c["reuse_gap_ms_median"], 1000)
        blocks, size, pages, where, frames = r.sites[0]
        self.assertEqual((blocks, size), (50, 50 << 23))
        self.assertEqual(pages, r.total["refaulted_pages"])
        self.assertTrue(where.startswith("preload-big"), where)
        self.assertEqual(frames[0], where)
        self.assertTrue(any("__libc_start_main" in f for f in frames), frames)

    def test_head(self):
        r = self.one("big", "2", "1000000", options="threshold=256K,decay=2s")
        self.assertEqual(r.head["threshold"], str(256 << 10))
        self.assertEqual(r.head["decay_ms"], "2000")
        self.assertEqual(r.head["exe"], os.path.realpath(PROGRAMS["big"]))
        self.assertIn("libc", r.head["malloc"])
        self.assertTrue(r.head["process"].startswith("pid "))

    def test_decay_of_nothing(self):
        r = self.one("big", "20", "8388608", options="decay=0")
        self.assertEqual(r.total["reused"], 0)
        self.assertEqual(r.total["refaulted_pages"], 0)
        self.assertAlmostEqual(r.total["first_pages"], 20 * 2048, delta=20)

    def test_below_the_threshold(self):
        r = self.one("big", "30", "100000")
        self.assertEqual(r.total["blocks"], 0)
        self.assertGreaterEqual(r.total["small_blocks"], 30)
        self.assertGreaterEqual(r.total["small_bytes"], 30 * 100000)
        self.assertEqual(r.classes, {})

    def test_a_lower_threshold(self):
        r = self.one("big", "30", "100000", options="threshold=64K")
        self.assertEqual(r.total["blocks"], 30)

    def test_forked_child_counts_for_itself(self):
        self.assertEqual(
            self.run_under("big", "10", "8388608", "fork").returncode, 0)
        found = self.recorded()
        self.assertEqual(sorted(r.total["blocks"] for r in found.values()),
                         [3, 10])
        self.assertEqual({r["ended"] for r in self.records().values()}, {"1"})

    def test_every_call(self):
        big = 3 << 20
        r = self.one("work")
        self.assertEqual(r.total["blocks"], 4 + 5 + 4000)
        self.assertEqual(r.total["resized"], 2)
        self.assertEqual(r.total["live_bytes"], 0)
        self.assertEqual(r.total["lost"], 0)
        self.assertGreaterEqual(r.total["small_blocks"], 4000)
        self.assertEqual(sum(c["blocks"] for c in r.classes.values()), 4009)
        self.assertEqual(sum(c["live"] for c in r.classes.values()), 0)
        self.assertEqual(r.classes[2 * big]["resized"], 1)
        self.assertEqual(r.classes[3 * big]["resized"], 1)
        self.assertLessEqual(len(r.sites), 10)

    def test_without_a_folder_it_only_passes_on(self):
        done = self.run_under("work", env={"QUIRE_OPTIONS": ""})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(os.listdir(self.dir), [])

    def test_ways_to_end(self):
        for how in ("_Exit", "thread", "handler", "quick", "closed"):
            with self.subTest(how):
                done = self.run_under("leave", how)
                self.assertEqual(done.returncode, 7)
        self.assertEqual(len(self.recorded()), 5)

    def test_vfork_child_writes_nothing(self):
        self.run_under("leave", "vfork")
        self.assertEqual(self.recorded(), {})

    def test_python(self):
        python = shutil.which("python3")
        r = self.one(python, "-c", "for i in range(30): bytearray(5 << 20)")
        self.assertGreaterEqual(r.total["blocks"], 30)

    def test_same_output(self):
        data = b"".join(b"%d line\n" % (i * 7919 % 100003)
                        for i in range(100000))
        plain = subprocess.run(["sort"], input=data, stdout=subprocess.PIPE)
        self.assertEqual(self.run_under("sort", input=data).stdout,
                         plain.stdout)

    def test_beside_stamp(self):
        """Two of our libraries keep one record of the process."""
        stamp = LIBRARY.replace("quire-record", "quire-stamp")
        for order in ([LIBRARY, stamp], [stamp, LIBRARY]):
            with self.subTest(order):
                done = self.run_under("big", "3", "8388608",
                                      env={"LD_PRELOAD": ":".join(order)})
                self.assertEqual(done.returncode, 0)
        for record in self.records().values():
            self.assertEqual(record["loaded"], "6")
            self.assertEqual(record["ended"], "1")


main()
