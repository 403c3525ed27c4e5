# SPDX-License-Identifier: MIT
"""
sysbench oltp_read_only against PostgreSQL, plain and under quire in turn: for
1 to twice as many threads as CPUs, 12 short runs each, the harmonic mean of
transactions per second and whether there is a difference.

	QUIRE_SECONDS	length of one run (2)
	QUIRE_ROUNDS	runs of each kind (12)

That a difference could be seen is tested first, with made-up samples.  A
server that is slower by more than 5 % fails the test; smaller differences are
printed.
"""
import os
import re
import subprocess

import verdict
from postgres import Postgres
from programs import need, r

SECONDS = os.environ.get("QUIRE_SECONDS", "2")
ROUNDS = int(os.environ.get("QUIRE_ROUNDS", "12"))
TABLES, ROWS = 4, 20000

sysbench = need("sysbench")
equal, found = verdict.self_test()
r.check("a difference of 3 % is seen, and none where there is none",
        equal >= 0.85 and found >= 0.85, f"{equal:.2f} {found:.2f}")


def bench(server, threads, verb):
    done = subprocess.run(
        [sysbench, "oltp_read_only", "--db-driver=pgsql",
         f"--pgsql-host={server.home}", "--pgsql-user=me",
         "--pgsql-db=postgres", f"--tables={TABLES}", f"--table-size={ROWS}",
         f"--threads={threads}", f"--time={SECONDS}", verb],
        env=server.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=300)
    rate = re.search(r"transactions:\s+\d+\s+\(([\d.]+) per sec",
                     done.stdout.decode(errors="replace"))
    if done.returncode or (verb == "run" and not rate):
        print(done.stdout.decode(errors="replace")[-500:])
        return None
    return float(rate[1]) if rate else 0.0


servers = {"plain": Postgres("plain", False), "quire": Postgres("quire", True)}
try:
    for name, server in servers.items():
        r.check(f"{name}: starts", server.made and server.start(),
                server.said)
        r.check(f"{name}: tables", bench(server, 1, "prepare") is not None)
        bench(server, 2, "run")  # warm
    cpus = len(os.sched_getaffinity(0))
    print(f"{'threads':>8} {'plain':>10} {'quire':>10}  ratio [95 %]")
    for threads in range(1, 2 * cpus + 1):
        samples = {"plain": [], "quire": []}
        for i in range(ROUNDS):
            order = list(servers) if i % 2 else list(servers)[::-1]
            for name in order:
                rate = bench(servers[name], threads, "run")
                if rate:
                    samples[name].append(rate)
        if not r.check(f"{threads} threads: all runs ended well",
                       all(len(s) == ROUNDS for s in samples.values())):
            break
        word, text = verdict.verdict(samples["plain"], samples["quire"])
        means = [verdict.harmonic_mean(samples[n]) for n in servers]
        print(f"{threads:8} {means[0]:10.1f} {means[1]:10.1f}  {text} {word}")
        r.check(f"{threads} threads: not slower by 5 %",
                verdict.interval(samples["plain"], samples["quire"])[2] > 0.95,
                word)
finally:
    for server in servers.values():
        server.stop()
r.finish()
