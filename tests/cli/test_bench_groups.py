#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quire bench readtwice and lru: their shape, and that they measure what they
say.

Runs are short and the machine may be busy: no time is judged here."""
import json
import unittest

from cli_test import Case, has_json

TWICE = ("bench", "readtwice", "-q", "-n", "1", "--duration", "0.05")
LRU = ("bench", "lru", "-q", "-n", "1", "--duration", "0.01")


class BadInput(Case):
    def test_one_line_and_2(self):
        for words in (["readtwice", "--groups", "0"],
                      ["readtwice", "--groups", "257"],
                      ["readtwice", "--groups", "1,,4"],
                      ["readtwice", "--groups", "x"],
                      ["readtwice", "--lru-lock", ""],
                      ["readtwice", "--lru-lock", "zone"],
                      ["readtwice", "--lru-lock", "group,group"],
                      ["readtwice", "--duration", "0"],
                      ["readtwice", "--duration", "inf"],
                      ["readtwice", "--threads", "2"],
                      ["lru", "--groups", "1"], ["lru", "--size", "1G"],
                      ["lru", "--cases", "nosuch"],
                      ["page_fault1", "--duration", "1"],
                      ["bigfree", "--lru-lock", "node"]):
            with self.subTest(words=words):
                self.one_line(self.quire("bench", *words, "-q"), 2)

    def test_children_by_hand(self):
        for words in ([".twice"], [".twice", "zone", "1", "0.01"],
                      [".twice", "group", "0", "0.01"],
                      [".twice", "group", "1", "x"], [".lru"],
                      [".lru", "page", "nosuch", "0.01"],
                      [".lru", "nosuch", "off", "0.01"]):
            with self.subTest(words=words):
                self.one_line(self.quire("bench", *words), 2)

    def test_list(self):
        done = self.quire("bench", "list")
        names = [x.split()[0] for x in done.stdout.splitlines()]
        self.assertIn("readtwice", names)
        self.assertIn("lru", names)


class Child(Case):
    """One run, as the bench has it done."""

    def answers(self, *words):
        done = self.quire("bench", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {k: float(v) for k, v in
                (line.split() for line in done.stdout.splitlines())}

    def test_every_page_is_read_twice(self):
        """One reader of a group brings a page, the other finds it; more than
        half are found only if the ring does not exceed the limit."""
        for lock in ("group", "node"):
            for groups in (1, 3, 40):
                with self.subTest(lock=lock, groups=groups):
                    got = self.answers(".twice", lock, groups, "0.1")
                    self.assertGreater(got["rate"], 0)
                    self.assertLessEqual(got["rate_least"], got["rate"])
                    self.assertGreaterEqual(got["rate_most"], got["rate"])
                    self.assertLess(abs(got["hits"] - 0.5), 0.05)
                    self.assertGreater(got["activated"], 0)
                    self.assertGreater(got["lock_takes"], 0)
                    self.assertLessEqual(got["contended"],
                                         got["lock_takes"])

    def test_a_scan_beside(self):
        got = self.answers(".lru", "scan", "beside", "0.05")
        self.assertGreater(got["scanned"], 10)
        self.assertLessEqual(got["hit_rate"], 1)


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
        return {(r["case"], r["variant"], r["metric"]): r["samples"]
                for r in result["rows"]}

    def test_readtwice(self):
        result = self.result(*TWICE, "-n", "2", "--groups", "1,4",
                             "--lru-lock", "group,node")
        rows = self.check_rows(result, "readtwice", 2)
        for lock in ("group", "node"):
            for variant in ("groups:1", "groups:4"):
                for metric in ("rate", "contended", "lock_takes",
                               "lock_hold"):
                    self.assertIn((lock, variant, metric), rows)
        self.assertIn(("machine", "", "other_load"), rows)
        self.assertEqual(result["params"]["duration"], 0.05)

    def test_one_lock(self):
        rows = self.check_rows(self.result(*TWICE, "--groups", "2",
                                           "--lru-lock", "node"),
                               "readtwice", 1)
        self.assertIn(("node", "groups:2", "rate"), rows)
        self.assertFalse([key for key in rows if key[0] == "group"])

    def test_lru(self):
        rows = self.check_rows(self.result(*LRU), "lru", 1)
        for case, variant in (("page", "off"), ("page", "open"),
                              ("page", "root"), ("page", "group:1"),
                              ("page", "group:40"), ("charge", "group:1"),
                              ("charge", "group:40"), ("touch", "group:1"),
                              ("churn", "group"), ("churn", "node"),
                              ("reclaim", "held:4096"),
                              ("reclaim", "held:65536")):
            self.assertGreater(rows[case, variant, "op"][0], 0)
        for variant in ("alone", "beside"):
            self.assertGreater(rows["scan", variant, "hit_rate"][0], 0.5)

    def test_cases(self):
        rows = self.check_rows(self.result(*LRU, "--cases", "charge,churn"),
                               "lru", 1)
        self.assertEqual({key[0] for key in rows},
                         {"charge", "churn", "machine"})

    def test_tables(self):
        for words in ((*TWICE, "--groups", "1,2"), LRU):
            out = self.dir / "o.json"
            done = self.quire(*words, "-o", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 120, line)
            json.loads(out.read_text())


if __name__ == "__main__":
    unittest.main()
