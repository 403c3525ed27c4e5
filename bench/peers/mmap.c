/* SPDX-License-Identifier: MIT */
/*
 * A page from the kernel itself: mapped, its first byte written, unmapped.
 */
#include "meter.h"
#include "peer.h"

#include <sys/mman.h>

static size_t block_bytes;

static inline void *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	*(volatile char *)p = 1;
	return p;
}

static inline void *page_get(void)
{
	return map(PEER_PAGE);
}

static inline void page_put(void *page)
{
	munmap(page, PEER_PAGE);
}

static inline void *block_get(void)
{
	return map(block_bytes);
}

static inline void block_put(void *block)
{
	munmap(block, block_bytes);
}

static inline bool bulk_get(void **out, size_t nr)
{
	char *p = mmap(NULL, nr * PEER_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	for (i = 0; p != MAP_FAILED && i < nr; i++) {
		out[i] = p + i * PEER_PAGE;
		*(volatile char *)out[i] = 1;
	}
	return p != MAP_FAILED;
}

static inline void bulk_put(void **in, size_t nr)
{
	munmap(in[0], nr * PEER_PAGE);
}

#include "loops.h"

static const char *open_pool(const struct plan *plan)
{
	block_bytes = (size_t)PEER_PAGE << plan->order;
	return plan->aged ? "the kernel has not that many mappings" : NULL;
}

static long nr_out(void)
{
	return -1;
}

const struct peer peer = { PEER_LOOPS, .open = open_pool, .nr_out = nr_out };
