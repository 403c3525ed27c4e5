#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""release.py BUILD [--quick] [RESULT...]: the figures of docs/mechanism-d.md.

Runs `quire bench` and prints its samples as tables: medians, smallest and
largest, ratios of medians.  With result files of earlier runs it prints those
and runs nothing.  Needs half an hour and 17 GiB on an idle machine; what others
used meanwhile stands under each table.
"""
import os
import statistics
import sys

from results import Result, command, headline, read, run, spread

KEPT = "kernel-thp,span,span-zeroed"
FULL = (
    ("bigfree", "--size", "8G", "--workers", "1,2"),
    ("bigfree", "--size", "8G", "--workers", "1,2", "--pages", "4k,thp",
     "--cases", "handmade,parallel", "--busy", "1"),
    ("bigfree", "--scale", "1G,2G,4G,8G,16G", "--workers", "2", "--pages",
     "4k,thp", "--cases", "handmade,parallel"),
    ("page_fault1", "--bodies", KEPT),
)
QUICK = (
    ("bigfree", "--size", "256M", "--workers", "1,2", "-n", "5"),
    ("page_fault1", "--bodies", KEPT, "--seconds", "0.05", "-n", "5"),
)


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


def tables(result: Result):
    print("\n" + command(result), flush=True)
    for bench in result.benches():
        if bench == "bigfree":
            for variant in result.variants(bench):
                release_tables(result, variant)
        else:
            touch_table(result)
        print("\n" + result.weather(bench), flush=True)
    for name, why in result.params.get("not_run", {}).items():
        print(f"\n{name}: {why}.")


def main(args):
    if not args or args[0].startswith("-"):
        sys.exit(__doc__.splitlines()[0])
    build, files = os.path.abspath(args[0]), [x for x in args[1:]
                                              if not x.startswith("-")]
    print(headline())
    for name in files:
        tables(read(name))
    if not files:
        for words in QUICK if "--quick" in args else FULL:
            tables(run(build, words))


main(sys.argv[1:])
