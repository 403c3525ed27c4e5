#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""release.py BUILD [--quick] [RESULT...]: the figures of docs/mechanism-d.md.

Runs `quire bench` and prints its samples as tables: medians, smallest and
largest, ratios of medians.  With result files of earlier runs it prints those
and runs nothing.  Needs half an hour and 17 GiB on an idle machine; what others
used meanwhile stands under each table.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

FULL = (
    ("bigfree", "--size", "8G", "--workers", "1,2"),
    ("bigfree", "--size", "8G", "--workers", "1,2", "--pages", "4k,thp",
     "--cases", "handmade,parallel", "--busy", "1"),
    ("bigfree", "--scale", "1G,2G,4G,8G,16G", "--workers", "2", "--pages",
     "4k,thp", "--cases", "handmade,parallel"),
    ("page_fault1",),
)
QUICK = (
    ("bigfree", "--size", "256M", "--workers", "1,2", "-n", "5"),
    ("page_fault1", "--seconds", "0.05", "-n", "5"),
)


def run(build, words):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "o.json")
        subprocess.run([f"{build}/cli/quire", "bench", *words, "--wait", "60",
                        "-o", out], stdout=subprocess.DEVNULL, check=True)
        with open(out) as f:
            return json.load(f)


class Result:
    def __init__(self, result):
        self.params = result["params"]
        self.rows = {}
        for row in result["rows"]:
            known = [x for x in row["samples"] if x is not None]
            key = row["bench"], row["variant"], row["case"], row["metric"]
            if known:
                self.rows[key] = known

    def benches(self):
        return dict.fromkeys(key[0] for key in self.rows)

    def variants(self, bench):
        return [v for v in dict.fromkeys(key[1] for key in self.rows
                                         if key[0] == bench) if v]

    def cases(self, bench, variant, metric):
        return [key[2] for key in self.rows
                if key[:2] == (bench, variant) and key[3] == metric]

    def median(self, *key):
        return statistics.median(self.rows[key]) if key in self.rows else None

    def ratio(self, above, below):
        a, b = self.median(*above), self.median(*below)
        return f"{a / b:.3f}" if a and b else "–"


def spread(samples, scale, digits=1):
    """median (smallest–largest)"""
    if not samples:
        return "–"
    values = [statistics.median(samples), min(samples), max(samples)]
    middle, low, high = (f"{v * scale:,.{digits}f}" for v in values)
    return f"{middle} ({low}–{high})"


def release_tables(result, variant):
    b = "bigfree"
    base = "munmap" if (b, variant, "munmap", "time") in result.rows \
        else "malloc"
    print(f"\n### {variant}\n\n| case | time, ms | {base} / case | blocked, ms"
          " | cpu, ms | threads |\n|---|---|---|---|---|---|")
    for case in result.cases(b, variant, "time"):
        def get(metric, case=case):
            return result.rows.get((b, variant, case, metric))
        print(f"| {case} | {spread(get('time'), 1e3)} | "
              + result.ratio((b, variant, base, "time"),
                             (b, variant, case, "time"))
              + f" | {spread(get('blocked'), 1e3, 3)}"
              f" | {spread(get('cpu'), 1e3)}"
              f" | {statistics.median(get('workers')):.0f} |")
    if not result.cases(b, variant, "fault_p50"):
        return
    print("\n| another thread meanwhile | p50, us | p99, us | p99.9, us |"
          " / idle | faults/s | / idle |\n|---|---|---|---|---|---|---|")
    for case in result.cases(b, variant, "fault_rate"):
        def fault(metric, scale, digits=2, case=case):
            return spread(result.rows.get((b, variant, case, metric)), scale,
                          digits)
        print(f"| {case} | {fault('fault_p50', 1e6)}"
              f" | {fault('fault_p99', 1e6)} | {fault('fault_p999', 1e6)} | "
              + result.ratio((b, variant, case, "fault_p999"),
                             (b, variant, "idle", "fault_p999"))
              + f" | {fault('fault_rate', 1, 0)} | "
              + result.ratio((b, variant, case, "fault_rate"),
                             (b, variant, "idle", "fault_rate")) + " |")


def touch_table(result):
    b = "page_fault1"
    print("\n### page_fault1\n\n| case | pages/s | / kernel | / kernel-thp |"
          "\n|---|---|---|---|")
    for variant in result.variants(b):
        for case in result.cases(b, variant, "pages"):
            key = b, variant, case, "pages"
            print(f"| {case}:{variant} | {spread(result.rows[key], 1, 0)} | "
                  + result.ratio(key, (b, variant, "kernel", "pages")) + " | "
                  + result.ratio(key, (b, variant, "kernel-thp", "pages"))
                  + " |")


def tables(result):
    words = " ".join(["quire", *result.params["command"]])
    print(f"\n`{words}`", flush=True)
    for bench in result.benches():
        if bench == "bigfree":
            for variant in result.variants(bench):
                release_tables(result, variant)
        else:
            touch_table(result)
        load = result.rows.get((bench, "", "machine", "other_load"), [0])
        steal = result.rows.get((bench, "", "machine", "steal"), [0])
        print(f"\n{result.params['rounds']} rounds; others used "
              f"{statistics.median(load):.2f} CPUs, "
              f"{statistics.median(steal):.2f} were stolen; "
              f"{result.params['disturbed']} runs were disturbed.", flush=True)
    for name, why in result.params.get("not_run", {}).items():
        print(f"\n{name}: {why}.")


def main(args):
    if not args or args[0].startswith("-"):
        sys.exit(__doc__.splitlines()[0])
    build, files = os.path.abspath(args[0]), [x for x in args[1:]
                                              if not x.startswith("-")]
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs, "
          f"Linux {os.uname().release}")
    for name in files:
        with open(name) as f:
            tables(Result(json.load(f)))
    if not files:
        for words in QUICK if "--quick" in args else FULL:
            tables(Result(run(build, words)))


main(sys.argv[1:])
