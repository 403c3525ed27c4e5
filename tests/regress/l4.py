# SPDX-License-Identifier: MIT
"""L4: in front of other malloc libraries; programs that bring their own."""
import glob

import regress as r

PYTHON = ["python3", "-c", "import json\n"
          "d = [bytes([i]) * (100_000 + i * 9000) for i in range(200)]\n"
          "d += [b'x' * i for i in range(3000)]\n"
          "s = json.dumps({str(i): 'y' * i for i in range(1500)})\n"
          "print(sum(map(len, d)), len(s))"]
# Blocks that cross the threshold both ways, and change hands.
THREADS = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *slot[512];
static void *body(void *arg)
{
	unsigned int seed = (unsigned int)(unsigned long)arg;
	for (int i = 0; i < 4000; i++) {
		seed = seed * 1664525 + 1013904223;
		size_t n = 1 + (seed >> 8) % 300000;
		char *p = seed & 1 ? malloc(n) : seed & 2 ? calloc(1, n)
			: seed & 4 ? memalign(4096, n) : realloc(NULL, n);
		if (!p || malloc_usable_size(p) < n) abort();
		p[0] = p[n - 1] = 1;
		if (seed & 64) {
			p = realloc(p, n / 2 + 200000);
			if (!p || p[0] != 1) abort();
		}
		p = __atomic_exchange_n(&slot[(seed >> 20) % 512], p,
					__ATOMIC_ACQ_REL);
		free(p);
	}
	return 0;
}
int main(void)
{
	pthread_t t[6];
	for (long i = 0; i < 6; i++) pthread_create(&t[i], 0, body, (void *)i);
	for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
	for (int i = 0; i < 512; i++) free(slot[i]);
	puts("good");
	return 0;
}
"""
threads = r.compile_c("threads", THREADS, "-pthread")
for name in ("jemalloc.so.2", "mimalloc.so.2", "tcmalloc.so.4",
             "tcmalloc_minimal.so.4"):
    found = glob.glob(f"/usr/lib/*/lib{name}")
    if not found:
        r.skip(name, "not installed")
        continue
    other = found[0]
    for where, preload in (("behind us", f"{r.LIBRARY}:{other}"),
                           ("before us", f"{other}:{r.LIBRARY}")):
        for what, command in (("python", PYTHON), ("early", ["early"]),
                              ("threads", [threads]),
                              ("forks", ["forks", "fork", "20", "2"]),
                              ("shell", ["sh", "-c", "ls / | wc -l"])):
            if command[0] is None:
                continue
            plain = r.run(command, quire=False, preload=other)
            if plain.returncode:
                r.skip(f"{name} {where}: {what}",
                       "fails with that library alone")
                continue
            ours = r.run(command, quire=False, preload=preload, timeout=60)
            r.check(f"{name} {where}: {what}", ours.returncode == 0 and
                    ours.stdout == plain.stdout, r.tail(ours))

r.same("a program with its own malloc", ["ownmalloc"])
for name in ("cxx",):
    if name in r.PROGRAM:
        r.same("C++ new and delete of all kinds", [name])
        r.same("... with a helper thread", [name],
               options="thread_min=1M,decay=2ms")
    else:
        r.skip("C++ program", "no C++ compiler")
r.finish()
