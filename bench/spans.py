#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spans.py BUILD [--short|--quick]: the figures of docs/spans.md, on this machine.

All rows of one figure run alternated, in one go.  Figures of bench/blocks are
medians over processes with the smallest and largest; figures of whole programs
come from `quire measure`, with its intervals.  A busy machine is a failed
measurement: the load is printed first.  --short takes six minutes instead of
twenty, with fewer rounds; --quick only shows that it works.
"""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"


def rows(build):
    """Name of a row -> what it adds to the environment."""
    found = {
        "as-is": {},
        "env": {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:"
                                  "glibc.malloc.trim_threshold=1099511627776"},
        "quire": {"LD_PRELOAD": f"{build}/preload/libquire-preload.so"},
    }
    for name, file in (("jemalloc", "libjemalloc.so.2"),
                       ("mimalloc", "libmimalloc.so.2.0"),
                       ("tcmalloc", "libtcmalloc_minimal.so.4")):
        path = f"/usr/lib/{os.uname().machine}-linux-gnu/{file}"
        if os.path.exists(path):
            found[name] = {"LD_PRELOAD": path}
    return found


def alternate(command, envs, times):
    samples = {name: [] for name in envs}
    for _ in range(times):
        for name, extra in envs.items():
            out = subprocess.run(command, env={**os.environ, **extra},
                                 check=True, capture_output=True, text=True)
            samples[name].append(float(out.stdout))
    return samples


def blocks_table(title, unit, command, envs, times):
    print(f"\n### {title}\n\n| row | median {unit} | min | max |\n|---|---|---|---|")
    for name, values in alternate(command, envs, times).items():
        print(f"| {name} | {statistics.median(values):.1f} "
              f"| {min(values):.1f} | {max(values):.1f} |", flush=True)


def start_table(envs, times):
    """What a process costs that does nothing, in microseconds."""
    samples = {name: [] for name in envs}
    for _ in range(times):
        for name, extra in envs.items():
            begin = time.perf_counter()
            pid = os.posix_spawn("/bin/true", ["true"],
                                 {**os.environ, **extra})
            os.waitpid(pid, 0)
            samples[name].append((time.perf_counter() - begin) * 1e6)
    print("\n### /bin/true\n\n| row | median us | min | max |\n|---|---|---|---|")
    for name, values in samples.items():
        print(f"| {name} | {statistics.median(values):.0f} "
              f"| {min(values):.0f} | {max(values):.0f} |", flush=True)


def measure(build, command, rounds):
    out = subprocess.run([f"{build}/cli/quire", "measure", "-q", "--json",
                          "--no-record", "-n", str(rounds), "--"] + command,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True, text=True)
    return json.loads(out.stdout)


def medians(result, metric):
    return {row["case"]: statistics.median(row["samples"])
            for row in result["rows"]
            if row["metric"] == metric and row["samples"]}


def numpy_table(build, sizes, lives, rounds, total):
    print("\n### numpy: as-is / row, wall time (larger is better); "
          "peak: quire / as-is")
    names = None
    for size in sizes:
        for live in lives:
            result = measure(build, [PYTHON, f"{HERE}/../examples/numpy_loop.py",
                                     size, str(live), total], rounds)
            wall, peak = medians(result, "wall"), medians(result, "peak_rss")
            if names is None:
                names = [name for name in wall if name != "as-is"]
                print("\n| size | live | as-is s | " + " | ".join(names)
                      + " | peak |\n|" + "---|" * (len(names) + 4))
            ratios = " | ".join(f"{wall['as-is'] / wall[name]:.2f}"
                                for name in names)
            print(f"| {size} | {live} | {wall['as-is']:.3f} | {ratios} | "
                  f"{peak['quire'] / peak['as-is']:.2f} |", flush=True)


def main(args):
    if not args or args[0].startswith("-"):
        sys.exit(__doc__.splitlines()[0])
    build, quick = os.path.abspath(args[0]), "--quick" in args
    short = "--short" in args
    envs, blocks = rows(build), f"{build}/bench/blocks"
    times = 3 if quick else 5 if short else 11
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs, "
          f"Linux {os.uname().release}")
    blocks_table("malloc(64) + free", "ns", [blocks, "pair", "64"], envs, times)
    blocks_table("malloc(64) + free after the helper thread started", "ns",
                 [blocks, "after", "64"], envs, times)
    blocks_table("malloc(2000) + free", "ns", [blocks, "pair", "2000"], envs,
                 times)
    blocks_table("malloc(2000) + free after the helper thread started", "ns",
                 [blocks, "after", "2000"], envs, times)
    blocks_table("malloc(200000) + free, recycled", "ns",
                 [blocks, "pair", "200000"], envs, times)
    for mib in (2, 8):
        blocks_table(f"two threads, 4 blocks of {mib} MiB each alive", "ns",
                     [blocks, "threads", "2", str(mib << 20)], envs, times)
    start_table(envs, 30 if quick else 100 if short else 300)
    sizes = ["200K", "500K", "2M", "8M", "32M", "128M"]
    if quick:
        numpy_table(build, ["2M"], [2], 5, "1500M")
    elif short:
        numpy_table(build, sizes, [1, 2, 8], 5, "500M")
    else:
        numpy_table(build, sizes, [1, 2, 8], 7, "1500M")


main(sys.argv[1:])
