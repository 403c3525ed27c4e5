/* SPDX-License-Identifier: MIT */
/*
 * blocks: what blocks of one size cost a program, ns per malloc + free.
 *
 *	blocks pair SIZE	one block at a time, its first byte written
 *	blocks after SIZE	the same after 80 MiB were written and freed,
 *which starts the helper thread under quire
 *	blocks threads N SIZE	N threads, each with 4 blocks of SIZE alive,
 *every page written once
 *
 * Prints the smallest of 20 rounds, which is what the code costs where nothing
 * disturbs it; bench/spans.py runs it many times, alternated, and takes
 *medians.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20
#define LIVE   4

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pair(size_t size)
{
	char *block = malloc(size);

	if (!block)
		exit(1);
	*(volatile char *)block = 1;
	free(block);
}

static double pairs(size_t size)
{
	long nr = size < 4096 ? 2000000 : 100000;
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns();

		for (long i = 0; i < nr; i++)
			pair(size);
		double each = (now_ns() - start) / (double)nr;
		best = each < best ? each : best;
	}
	return best;
}

static void write_and_free(size_t size)
{
	char *block = malloc(size);

	if (!block)
		exit(1);
	memset(block, 1, size);
	free(block);
}

struct work {
	size_t size;
	long blocks;
};

static void *thread_main(void *arg)
{
	const struct work *work = arg;
	char *live[LIVE] = { NULL };

	for (long i = 0; i < work->blocks; i++) {
		char **slot = &live[i % LIVE];

		free(*slot);
		*slot = malloc(work->size);
		if (!*slot)
			exit(1);
		for (size_t at = 0; at < work->size; at += 4096)
			(*slot)[at] = 1;
	}
	for (int i = 0; i < LIVE; i++)
		free(live[i]);
	return NULL;
}

static double threads(int nr, size_t size)
{
	struct work work = { size, (long)((2000ul << 20) / size) };
	pthread_t id[64];
	double start = now_ns();

	for (int i = 0; i < nr; i++)
		if (pthread_create(&id[i], NULL, thread_main, &work))
			exit(1);
	for (int i = 0; i < nr; i++)
		pthread_join(id[i], NULL);
	return (now_ns() - start) / (double)work.blocks;
}

int main(int argc, char **argv)
{
	double ns;

	if (argc == 3 && !strcmp(argv[1], "pair")) {
		ns = pairs(strtoul(argv[2], NULL, 10));
	} else if (argc == 3 && !strcmp(argv[1], "after")) {
		write_and_free(80ul << 20);
		ns = pairs(strtoul(argv[2], NULL, 10));
	} else if (argc == 4 && !strcmp(argv[1], "threads") &&
		   atoi(argv[2]) >= 1 && atoi(argv[2]) <= 64) {
		ns = threads(atoi(argv[2]), strtoul(argv[3], NULL, 10));
	} else {
		fprintf(stderr, "usage: blocks pair|after SIZE | "
				"blocks threads N SIZE\n");
		return 2;
	}
	printf("%.2f\n", ns);
	return 0;
}
