/* SPDX-License-Identifier: MIT */
/*
 * work: known calls of every kind, for the counts of the recorder; all blocks
 * are far from 128 KiB on one side or the other.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BIG ((size_t)3 << 20)

/* A product with 3 that wraps; the compiler must not know. */
static volatile size_t too_many = SIZE_MAX / 2;

static void check(int good)
{
	if (!good)
		abort();
}

/* 4 blocks, 2 resized. */
static void resizes(void)
{
	char *p = realloc(NULL, 100);

	check(p != NULL);
	memset(p, 1, 100);
	p = realloc(p, BIG); /* a block */
	check(p && p[99] == 1);
	p = realloc(p, 2 * BIG); /* resized */
	check(p && p[99] == 1);
	p = reallocarray(p, 3, BIG); /* resized */
	check(p && p[99] == 1);
	p = realloc(p, 100); /* freed */
	check(p && p[99] == 1);
	free(p);
	p = calloc(3, BIG / 3); /* a block */
	check(p && !p[0] && !p[BIG - 1000]);
	check(!realloc(p, PTRDIFF_MAX)); /* refused: stays */
	free(p);
	check(!calloc(too_many, 3));
	check(!reallocarray(NULL, too_many, 3));
	p = malloc(BIG);	    /* a block */
	check(p && !realloc(p, 0)); /* freed */
	p = malloc(BIG);	    /* a block */
	check(p != NULL);
	free(p);
}

/* 5 blocks. */
static void aligned(void)
{
	void *p[5] = { NULL };

	check(!posix_memalign(&p[0], 1 << 16, BIG));
	check(posix_memalign(&p[1], 3, BIG));
	p[1] = aligned_alloc(1 << 21, BIG);
	p[2] = memalign(64, BIG);
	p[3] = valloc(BIG);
	p[4] = pvalloc(BIG - 1);
	check(!((uintptr_t)p[0] % (1 << 16)) && !((uintptr_t)p[1] % (1 << 21)));
	for (int i = 0; i < 5; i++) {
		check(p[i] != NULL);
		free(p[i]);
	}
}

static void *many(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(BIG + (size_t)(i % 7) * 4096);
		char *q = malloc(1000);

		check(p && q);
		p[0] = q[0] = 1;
		free(q);
		free(p);
	}
	return arg;
}

int main(void)
{
	pthread_t thread[4];

	resizes();
	aligned();
	for (int i = 0; i < 4; i++)
		check(!pthread_create(&thread[i], NULL, many, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
