#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py BUILD [--quick] [RESULT...]: the figures of docs/mechanism-a.md and
docs/mechanism-c.md.

Runs `quire bench` and prints its samples as tables: medians, smallest and
largest, ratios of medians, and what was to be reached beside what was.  With
result files of earlier runs it prints those and runs nothing.  Needs forty
minutes and 3 GiB on an idle machine; what others used meanwhile stands under
each table.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from results import Result, command, direction, headline, read, run, spread

DRAINS = ("pages-single", "pages-pick", "pages-prefetch")
BODIES = ",".join(("pages", "pages-aged", *DRAINS,
                   *(x + "-aged" for x in DRAINS)))
FULL = (
    ("page_bench",),
    ("time_bench", "-n", "11"),
    ("page_fault1", "--bodies", BODIES),
)
QUICK = (
    ("page_bench", "-n", "5", "--cases",
     "quire,quire-lto,mimalloc,tcmalloc,mempool,mempool-inline", "--loops",
     "100000"),
    ("time_bench", "-n", "5"),
    ("page_fault1", "--bodies", BODIES, "--seconds", "0.05", "-n", "5"),
)
MALLOCS = ("glibc", "jemalloc", "mimalloc", "tcmalloc")


# ---- page_bench ----

def pair_tables(result):
    b = "page_bench"
    pairs = [v for v in result.variants(b)
             if result.cases(b, v, "pair") and not v.startswith("reserve:")]
    for variant in pairs:
        print(f"\n### {variant}\n\n| case | ns | cycles | / mempool |"
              " / mempool-inline |\n|---|---|---|---|---|")
        for case in result.cases(b, variant, "pair"):
            key = b, variant, case, "pair"
            cycles = result.median(b, variant, case, "cycles")
            print(f"| {case} | {spread(result.rows[key], 1, 2)} | "
                  + (f"{cycles:.0f} | " if cycles else "– | ")
                  + result.ratio(key, (b, variant, "mempool", "pair")) + " | "
                  + result.ratio(key, (b, variant, "mempool-inline", "pair"))
                  + " |")


def reserve_table(result):
    b = "page_bench"
    sizes = [v for v in result.variants(b) if v.startswith("reserve:")]
    if not sizes:
        return
    print("\n### what a larger reserve costs\n\n| case | reserved | ns |"
          " / 1 GiB | bytes a page | resident for each page in use |"
          "\n|---|---|---|---|---|---|")
    for case in ("quire", "quire-lto"):
        for v in sizes:
            key = b, v, case, "pair"
            if key in result.rows:
                print(f"| {case} | {v[8:]} | "
                      f"{spread(result.rows[key], 1, 2)} | "
                      + result.ratio(key, (b, "reserve:1G", case, "pair"))
                      + f" | {result.median(b, v, case, 'metadata'):.1f} | "
                      f"{result.median(b, v, case, 'metadata_used'):.1f} |")


def tests_table(result):
    b = "page_bench"
    tests = [v for v in result.variants(b)
             if (b, v, "quire", "elem") in result.rows]
    if not tests:
        return
    print("\n### page_bench01 to 06\n\n| test | ns | cycles |\n|---|---|---|")
    for v in tests:
        cycles = result.median(b, v, "quire", "cycles")
        print(f"| {v} | {spread(result.rows[b, v, 'quire', 'elem'], 1, 2)} | "
              + (f"{cycles:.0f} |" if cycles else "– |"))


def targets(result):
    """(what, figure, limit, is it a least?) of each that can be told."""
    b = "page_bench"

    def pair(variant, case):
        return result.median(b, variant, case, "pair")

    def over(variant, case="quire", other="mempool"):
        x, y = pair(variant, case), pair(variant, other)
        return x / y if x and y else None
    for v in ("single", "outstanding:64", "outstanding:4096"):
        yield f"{v}, / mempool", over(v), 1, False
        yield f"{v}, ns", pair(v, "quire"), 3.2, False
        yield (f"{v}, LTO / mempool-inline",
               over(v, "quire-lto", "mempool-inline"), 1, False)
        yield f"{v}, LTO, ns", pair(v, "quire-lto"), 2.2, False
    for v, fresh, aged in (("threads2:4096", 1.2, 2), ("cross", 1.0, 1.5)):
        yield f"{v}, / mempool", over(v), fresh, False
        yield f"{v}-aged, / mempool", over(v + "-aged"), aged, False
    best = [pair("cross", x) for x in MALLOCS if pair("cross", x)]
    if best and pair("cross", "quire"):
        yield ("cross, fastest malloc / quire",
               min(best) / pair("cross", "quire"), 5, True)
    yield "bulk:32, ns", pair("bulk:32", "quire"), 1, False
    yield "order:9, ns", pair("order:9", "quire"), 20, False
    for v in ("reserve:16G", "reserve:1T"):
        x, y = pair(v, "quire"), pair("reserve:1G", "quire")
        yield f"{v} / reserve:1G", x / y if x and y else None, 1.1, False
    yield ("metadata, bytes a page",
           result.median(b, "reserve:1G", "quire", "metadata"), 57, False)
    x, y = (result.median("time_bench", "", f"page_{mode}", "elem")
            for mode in ("mask", "rseq"))
    yield "page, mask / rseq", x / y if x and y else None, 90, True
    for body, limit in (("pages", 80), ("pages-aged", 30)):
        for v in result.variants("page_fault1"):
            x, y = (result.median("page_fault1", v, case, "pages")
                    for case in (body, "kernel"))
            yield (f"page_fault1 {body}:{v}, / kernel",
                   x / y if x and y else None, limit, True)


def target_table(result):
    known = [x for x in targets(result) if x[1] is not None]
    if not known:
        return
    print("\n### what was to be reached\n\n| | is | target | |"
          "\n|---|---|---|---|")
    for what, figure, limit, least in known:
        met = figure >= limit if least else figure <= limit
        print(f"| {what} | {figure:.2f} | {'>=' if least else '<='} {limit} | "
              f"{'met' if met else '**missed**'} |")


# ---- time_bench ----

def time_tables(result):
    b = "time_bench"
    print("\n### primitives and modes\n\n| | ns | cycles |\n|---|---|---|")
    for case in result.cases(b, "", "elem"):
        cycles = result.median(b, "", case, "cycles")
        print(f"| {case} | {spread(result.rows[b, '', case, 'elem'], 1, 2)} | "
              + (f"{cycles:.0f} |" if cycles else "– |"))
    print("\n| saved, of a page | ns | foretold by the primitives |"
          "\n|---|---|---|")
    for dear, cheap, pieces in (("mask", "lock", ("signals",)),
                                ("lock", "rseq", ("trylock",)),
                                ("mask", "rseq", ("signals", "trylock"))):
        x, y = (result.median(b, "", f"page_{mode}", "elem")
                for mode in (dear, cheap))
        if x and y:
            told = 2 * sum(result.median(b, "", p, "elem") for p in pieces)
            print(f"| {dear} − {cheap} | {x - y:.1f} | {told:.1f} |")


# ---- page_fault1 ----

def own_compile(build, source):
    """How the library's @source was compiled: the words, and where."""
    with open(os.path.join(build, "compile_commands.json")) as f:
        for entry in json.load(f):
            if entry["file"].endswith(source) and \
               "libquire" in entry["output"]:
                words = shlex.split(entry["command"])
                cut = words.index("-MD")
                return words[:cut], entry["directory"]
    return None, None


def text_bytes(objects, symbol=None):
    """Of the whole object, or of one function."""
    if symbol:
        names = subprocess.run(["nm", "-S", objects], stdout=subprocess.PIPE,
                               text=True, check=True).stdout
        return sum(int(size, 16) for size in re.findall(
            rf"^\w+ (\w+) [tT] {symbol}(?:\.cold)?$", names, re.M))
    lines = subprocess.run(["size", objects], stdout=subprocess.PIPE,
                           text=True, check=True).stdout.splitlines()
    return int(lines[1].split()[0])


def drain_sizes(build):
    """Text of the lists of CPUs when only one way to drain is left in it, and
    of the function that picks."""
    words, folder = own_compile(build, "src/page/pcp.c")
    if not words:
        return []
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sizes = []
    with tempfile.TemporaryDirectory() as temp:
        def compiled(name, text):
            path = os.path.join(temp, name)
            with open(path + ".c", "w") as f:
                f.write(text)
            subprocess.run([*words, "-c", path + ".c", "-o", path + ".o"],
                           cwd=folder, check=True)
            return path + ".o"
        picks = compiled("tune", f'#include "{top}/src/page/tune.c"\n')
        for nr, mode in enumerate(DRAINS):
            # the field is read, and a constant is what comes of it
            size = text_bytes(compiled(mode, '#include "page/slow.h"\n'
                f"#define drain_mode drain_mode * 0 + {nr}\n"
                f'#include "{top}/src/page/pcp.c"\n'))
            pick = text_bytes(picks, "tune_pick_2018" if nr
                              else "tune_pick_today")
            sizes.append((mode, size, pick))
    return sizes


def touch_tables(result, build):
    b = "page_fault1"
    print("\n### page_fault1\n\n| body | pages/s | / kernel | against"
          " pages-single |\n|---|---|---|---|")
    for variant in result.variants(b):
        for case in result.cases(b, variant, "pages"):
            rows = result.rows[b, variant, case, "pages"]
            base = "pages-single-aged" if case.endswith("-aged") \
                else "pages-single"
            single = result.rows.get((b, variant, base, "pages"))
            words = direction(rows, single) \
                if single and case.startswith("pages-") and case != base \
                and case != "pages-aged" else ""
            print(f"| {case}:{variant} | {spread(rows, 1, 0)} | "
                  + result.ratio((b, variant, case, "pages"),
                                 (b, variant, "kernel", "pages"))
                  + f" | {words} |")
    print("\n| locks of free lists | takes for 1000 pages | contended |"
          " cycles held for a page |\n|---|---|---|---|")
    for variant in result.variants(b):
        for case in result.cases(b, variant, "zone_takes"):
            def get(metric, case=case, variant=variant):
                return result.rows[b, variant, case, metric]
            print(f"| {case}:{variant} | {spread(get('zone_takes'), 1e3, 2)}"
                  f" | {spread(get('zone_contended'), 1e3, 3)}"
                  f" | {spread(get('zone_hold'), 1)} |")
    sizes = drain_sizes(build)
    if sizes:
        print("\n| only one way to drain left: text, bytes | lists of CPUs |"
              " its choice of lists | together |\n|---|---|---|---|")
        for mode, size, pick in sizes:
            print(f"| {mode} | {size} | {pick} | {size + pick} |")


def tables(result: Result, build):
    print("\n" + command(result), flush=True)
    for bench in result.benches():
        if bench == "page_bench":
            pair_tables(result)
            reserve_table(result)
            tests_table(result)
        elif bench == "time_bench":
            time_tables(result)
        elif bench == "page_fault1":
            touch_tables(result, build)
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
        tables(read(name), build)
    if not files:
        for words in QUICK if "--quick" in args else FULL:
            tables(run(build, words), build)


main(sys.argv[1:])
