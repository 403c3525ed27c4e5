/* SPDX-License-Identifier: MIT */
/*
 * resident WHAT: allocate in some way, and print the resident KiB.
 *
 * sparse CALL MiB: malloc, calloc, memalign or realloc of a large block,
 * touched once in 2 MiB.
 *
 * burst MiB BLOCKS MS: that much in so many blocks, touched, freed; after MS
 * milliseconds of sleep.
 *
 * small N KiB MS: N blocks, touched, freed; after MS one malloc and free, and
 * again after 200 ms.
 *
 * inherit MiB: that much freed, then a fork; the child after small and big.
 *
 * steady S: S seconds with 64 MiB alive, to be looked at from outside.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define K ((size_t)1 << 10)
#define M ((size_t)1 << 20)

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* Without stdio, which would allocate: nothing is called meanwhile. */
static size_t resident_kib(void)
{
	char line[200] = "";
	size_t total = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fgets(line, sizeof(line), file))
		sscanf(line, "%zu %zu", &total, &resident);
	if (file)
		fclose(file);
	return resident * 4;
}

static void tell(const char *what)
{
	printf("%s %zu\n", what, resident_kib());
	fflush(stdout);
}

static void sparse(const char *call, size_t size)
{
	char *p;

	if (!strcmp(call, "calloc"))
		p = calloc(1, size);
	else if (!strcmp(call, "memalign"))
		p = memalign(4096, size);
	else if (!strcmp(call, "realloc"))
		p = realloc(calloc(1, size / 2), size);
	else
		p = malloc(size);
	if (!p) {
		printf("no memory\n");
		exit(3);
	}
	for (size_t at = 0; at < size; at += 2 * M)
		p[at] = 1;
	tell("touched");
	if (!strcmp(call, "calloc"))
		for (size_t at = 2048; at < size; at += 2 * M)
			if (p[at])
				exit(4);
	free(p);
}

static void burst(size_t size, size_t nr, long ms)
{
	char **block = malloc(nr * sizeof(*block));

	for (size_t i = 0; i < nr; i++)
		memset(block[i] = malloc(size / nr), 1, size / nr);
	tell("alive");
	for (size_t i = 0; i < nr; i++)
		free(block[i]);
	tell("freed");
	sleep_ms(ms);
	tell("later");
	free(block);
}

static void small(size_t nr, size_t size, long ms)
{
	char **block = malloc(nr * sizeof(*block));

	for (size_t i = 0; i < nr; i++)
		memset(block[i] = malloc(size), 1, size);
	for (size_t i = 0; i < nr; i++)
		free(block[i]);
	tell("freed");
	sleep_ms(ms);
	free(malloc(size));
	tell("call");
	sleep_ms(200);
	free(malloc(size));
	tell("later");
	free(block);
}

/* A child that goes on alone, as a daemon does, and only allocates little. */
static void inherit(size_t size)
{
	free(memset(malloc(size), 1, size));
	tell("freed");
	if (fork() == 0) {
		free(malloc(100));
		tell("child");
		free(malloc(200 * K));
		tell("again");
		_exit(0);
	}
	wait(NULL);
	tell("parent");
}

int main(int argc, char **argv)
{
	long a = argc > 2 ? atol(argv[2]) : 0;
	long b = argc > 3 ? atol(argv[3]) : 0;
	long c = argc > 4 ? atol(argv[4]) : 0;

	if (getenv("NO_HUGE"))
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	tell("start");
	if (argc > 3 && !strcmp(argv[1], "sparse"))
		sparse(argv[2], (size_t)b * M);
	else if (argc > 4 && !strcmp(argv[1], "burst"))
		burst((size_t)a * M, (size_t)b, c);
	else if (argc > 4 && !strcmp(argv[1], "small"))
		small((size_t)a, (size_t)b * K, c);
	else if (argc > 2 && !strcmp(argv[1], "inherit"))
		inherit((size_t)a * M);
	else if (argc > 2 && !strcmp(argv[1], "steady")) {
		memset(malloc(64 * M), 1, 64 * M);
		sleep_ms(a * 1000);
	} else
		return 2;
	return 0;
}
