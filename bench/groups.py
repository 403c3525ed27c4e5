#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""groups.py BUILD [--quick] [RESULT...]: the figures of docs/mechanism-b.md.

Runs `quire bench` and prints its samples as tables: medians, smallest and
largest, ratios of medians with their intervals, and what was to be reached
beside what was.  With result files of earlier runs it prints those and runs
nothing.  Needs a quarter of an hour and 2 GiB on an idle machine; what others
used meanwhile stands under each table.
"""
import os
import statistics
import sys

from results import Result, command, headline, interval, read, run, spread

FULL = (
    ("readtwice", "-n", "11"),
    ("lru", "-n", "11"),
)
QUICK = (
    ("readtwice", "-n", "5", "--duration", "0.2"),
    ("lru", "-n", "5", "--duration", "0.02"),
)


def with_interval(above, below):
    """ratio (low–high)"""
    known = interval(above, below) if above and below else None
    return "–" if not known else "{:.3f} ({:.3f}–{:.3f})".format(*known)


# ---- readtwice ----

def mean_and_deviation(samples):
    deviation = statistics.stdev(samples) if len(samples) > 1 else 0
    return f"{statistics.mean(samples):,.0f} ({deviation:,.0f})"


def twice_tables(result):
    b = "readtwice"
    print("\n### readtwice\n\n| lock, groups | touches/s of a reader: mean"
          " (deviation) | hits | lock takes for 1000 | contended for 1000 |"
          " cycles held for one |\n|---|---|---|---|---|---|")
    for variant in result.variants(b):
        for case in result.cases(b, variant, "rate"):
            def get(metric, case=case, variant=variant):
                return result.rows.get((b, variant, case, metric))
            print(f"| {case}, {variant[7:]} | "
                  f"{mean_and_deviation(get('rate'))}"
                  f" | {spread(get('hits'), 1, 3)}"
                  f" | {spread(get('lock_takes'), 1e3)}"
                  f" | {spread(get('contended'), 1e3, 3)}"
                  f" | {spread(get('lock_hold'), 1)} |")
    print("\n| groups | rate, group / node | contended takes, group against node |"
          "\n|---|---|---|")
    for variant in result.variants(b):
        rate = [result.rows.get((b, variant, x, "rate"))
                for x in ("group", "node")]
        if all(rate):
            print(f"| {variant[7:]} | {with_interval(*rate)} | "
                  f"{fewer(result, variant)} |")


def contended(result, variant):
    """Medians of group and node; None: not both are known."""
    pair = [result.median("readtwice", variant, x, "contended")
            for x in ("group", "node")]
    return None if None in pair else pair


def fewer(result, variant):
    pair = contended(result, variant)
    if not pair:
        return "–"
    group, node = pair
    if group and node >= group:
        return f"{node / group:.1f} times fewer"
    if group and node:
        return f"{group / node:.1f} times more"
    return "some, and none" if group else \
        "none, and some" if node else "none in either"


# ---- lru ----

UNITS = {"op": ("ns", 2), "hit_rate": ("hits", 4)}


def lru_tables(result):
    b = "lru"
    print("\n### lru\n\n| case | | |\n|---|---|---|")
    for variant in result.variants(b):
        for metric, (unit, digits) in UNITS.items():
            for case in result.cases(b, variant, metric):
                print(f"| {case}, {variant} | "
                      f"{spread(result.rows[b, variant, case, metric], 1, digits)}"
                      f" | {unit} |")


# ---- targets ----

def edge(result, bench, above, below, metric, which):
    """One end of the interval of a ratio: 1 is the low, 2 the high one."""
    a, b = (result.rows.get((bench, variant, case, metric))
            for case, variant in (above, below))
    known = interval(a, b) if a and b else None
    return known[which] if known else None


def targets(result):
    """(what, figure, limit, is it a least?) of each that can be told."""
    pair = contended(result, "groups:40")
    if pair and (pair[0] or pair[1]):
        yield ("40 groups, contended takes, node / group",
               pair[1] / pair[0] if pair[0] else float("inf"), 10, True)
    for variant, what, least in (
            ("groups:40", "40 groups, rate, group / node, upper end", 1),
            ("groups:1", "one group, rate, group / node, lower end", 0.97)):
        yield (what, edge(result, "readtwice", ("group", variant),
                          ("node", variant), "rate",
                          2 if least == 1 else 1), least, True)
    yield ("churn, group / node, upper end",
           edge(result, "lru", ("churn", "group"), ("churn", "node"), "op", 2),
           1.03, False)
    held = [v for v in result.variants("lru")
            if ("lru", v, "reclaim", "op") in result.rows]
    for v in held:
        yield (f"reclaim of a clean page, {v}, ns",
               result.median("lru", v, "reclaim", "op"), 150, False)
    yield ("charge and uncharge, ns",
           result.median("lru", "group:1", "charge", "op"), 5, False)
    yield ("page, groups open / off, lower end",
           edge(result, "lru", ("page", "open"), ("page", "off"), "op", 1),
           1.01, False)
    alone, beside = (result.median("lru", v, "scan", "hit_rate")
                     for v in ("alone", "beside"))
    if alone and beside:
        yield ("hit rate of B, alone less beside a scan",
               abs(alone - beside), 0.01, False)


def target_table(result):
    known = [x for x in targets(result) if x[1] is not None]
    if not known:
        return
    print("\n### what was to be reached\n\n| | is | target | |"
          "\n|---|---|---|---|")
    for what, figure, limit, least in known:
        met = figure >= limit if least else figure <= limit
        print(f"| {what} | {figure:.3f} | {'>=' if least else '<='} {limit} | "
              f"{'met' if met else '**missed**'} |")


def tables(result: Result):
    print("\n" + command(result), flush=True)
    for bench in result.benches():
        if bench == "readtwice":
            twice_tables(result)
        elif bench == "lru":
            lru_tables(result)
        print("\n" + result.weather(bench), flush=True)
    for name, why in result.params.get("not_run", {}).items():
        print(f"\n{name}: {why}.")
    target_table(result)


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
