# SPDX-License-Identifier: MIT
"""
Is there a difference between two sets of samples?  As a percentage of the
first one's mean, with a 95 % bootstrap interval; and a test of itself, which
shows that it finds a difference where there is one.
"""
import random
import statistics


def harmonic_mean(samples):
    return statistics.harmonic_mean(samples)


def interval(plain, ours, rounds=4000, seed=1):
    """Ratio ours / plain of the harmonic means, and its 95 % interval."""
    rng = random.Random(seed)
    ratios = sorted(
        harmonic_mean(rng.choices(ours, k=len(ours))) /
        harmonic_mean(rng.choices(plain, k=len(plain)))
        for _ in range(rounds))
    return (harmonic_mean(ours) / harmonic_mean(plain),
            ratios[int(rounds * 0.025)], ratios[int(rounds * 0.975)])


def verdict(plain, ours):
    """("no difference" or "slower" or "faster", text); of rates, not times."""
    ratio, low, high = interval(plain, ours)
    text = f"{ratio:.4f} [{low:.4f}, {high:.4f}]"
    if low > 1.0:
        return "faster", text
    if high < 1.0:
        return "slower", text
    return "no difference", text


def shifted(rng, mean, spread, n=12):
    return [rng.gauss(mean, mean * spread) for _ in range(n)]


def self_test():
    """Share of right answers: for equal samples, and for shifted ones."""
    rng = random.Random(7)
    equal = found = 0
    rounds = 100
    for _ in range(rounds):
        a, b = shifted(rng, 1000, 0.02), shifted(rng, 1000, 0.02)
        equal += verdict(a, b)[0] == "no difference"
        b = shifted(rng, 970, 0.02)
        found += verdict(a, b)[0] == "slower"
    return equal / rounds, found / rounds


if __name__ == "__main__":
    print("equal samples called equal: %.2f, samples 3 %% slower called "
          "slower: %.2f" % self_test())
