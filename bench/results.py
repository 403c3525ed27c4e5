# SPDX-License-Identifier: MIT
"""Result files of `quire bench`, and how their figures are written."""
import json
import os
import random
import statistics
import subprocess
import tempfile


class Result:
    """rows[bench, variant, case, metric]: the samples that are known."""

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

    def weather(self, bench):
        """What others used meanwhile."""
        load = self.rows.get((bench, "", "machine", "other_load"), [0])
        steal = self.rows.get((bench, "", "machine", "steal"), [0])
        return (f"{self.params['rounds']} rounds; others used "
                f"{statistics.median(load):.2f} CPUs, "
                f"{statistics.median(steal):.2f} were stolen; "
                f"{self.params['disturbed']} runs were disturbed.")


def read(name):
    with open(name) as f:
        return Result(json.load(f))


def run(build, words):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "o.json")
        subprocess.run([f"{build}/cli/quire", "bench", *words, "--wait", "60",
                        "-o", out], stdout=subprocess.DEVNULL, check=True)
        return read(out)


def spread(samples, scale, digits=1):
    """median (smallest–largest)"""
    if not samples:
        return "–"
    values = [statistics.median(samples), min(samples), max(samples)]
    middle, low, high = (f"{v * scale:,.{digits}f}" for v in values)
    return f"{middle} ({low}–{high})"


def interval(above, below, resamples=2000):
    """Ratio of medians and its 95 % bootstrap interval; None: too few."""
    if len(above) < 5 or len(below) < 5:
        return None
    r = random.Random(1)
    many = sorted(
        statistics.median(r.choices(above, k=len(above))) /
        statistics.median(r.choices(below, k=len(below)))
        for _ in range(resamples))
    return (statistics.median(above) / statistics.median(below),
            many[resamples // 40], many[-1 - resamples // 40])


def direction(above, below, more="faster", less="slower"):
    """A difference in words, or that there is none."""
    known = interval(above, below)
    if not known:
        return "too few runs"
    ratio, low, high = known
    if low > 1.01 or high < 0.99:
        return f"{abs(ratio - 1) * 100:.1f} % {more if ratio > 1 else less}"
    wide = max(abs(low - 1), abs(high - 1)) * 100
    return (f"no difference (±{wide:.1f} %)" if wide < 20
            else f"too much noise (±{wide:.0f} %)")


def headline():
    return (f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs, "
            f"Linux {os.uname().release}")


def command(result):
    return "`" + " ".join(["quire", *result.params["command"]]) + "`"
