/* SPDX-License-Identifier: MIT */
/*
 * Memory as benches need it: is there enough, map it, fill it, is it there?
 */
#ifndef QUIRE_CLI_BENCH_MEMORY_H
#define QUIRE_CLI_BENCH_MEMORY_H

#include "bench.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MEMORY_PAGE = 4096,
	MEMORY_HUGE = 2 << 20,
	MEMORY_SPARE = 256 << 20, /* for everything but the block itself */
};

/* memory_available - what can be used before something is killed */
uint64_t memory_available(void);

/* memory_pool_pages - free huge pages of 2 MiB in the pool */
uint64_t memory_pool_pages(void);

/* memory_resident - of this process, huge pages of the pool included */
uint64_t memory_resident(void);

/* memory_map - address space, aligned to huge pages; NULL: refused */
char *memory_map(size_t bytes, enum bench_pages pages);

/*
 * memory_fill - a page behind every address, by two threads
 * Returns 0 or a negative errno.
 */
int memory_fill(char *start, size_t bytes);

/* memory_huge_bytes - how much of a mapping of ours is in huge pages */
uint64_t memory_huge_bytes(const char *start);

#endif /* QUIRE_CLI_BENCH_MEMORY_H */
