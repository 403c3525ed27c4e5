/* SPDX-License-Identifier: MIT */
/*
 * malloc(4096) and free, of whichever library serves them (glibc, jemalloc,
 * mimalloc, tcmalloc).  Nothing is written to the blocks, and they need not be
 * aligned to their size: what the library asks for least.
 */
#include "meter.h"
#include "peer.h"

#include <stdlib.h>

static size_t block_bytes;

static inline void *page_get(void)
{
	return malloc(PEER_PAGE);
}

static inline void page_put(void *page)
{
	free(page);
}

static inline void *block_get(void)
{
	return malloc(block_bytes);
}

static inline void block_put(void *block)
{
	free(block);
}

static inline bool bulk_get(void **out, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		out[i] = malloc(PEER_PAGE);
		if (!out[i])
			return false;
	}
	return true;
}

static inline void bulk_put(void **in, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(in[i]);
}

#include "loops.h"

static const char *open_pool(const struct plan *plan)
{
	block_bytes = (size_t)PEER_PAGE << plan->order;
	return NULL;
}

static long nr_out(void)
{
	return -1;
}

const struct peer peer = { PEER_LOOPS, .open = open_pool, .nr_out = nr_out };
