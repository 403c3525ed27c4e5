/* SPDX-License-Identifier: MIT */
/*
 * DPDK's mempool: a ring of all elements, and a cache of 512 for each thread.
 *
 * Compiled twice.  MEMPOOL_CALL 1: behind a function of its own, as a library
 * call is; 0: inlined into the loop, which is how its headers have it.
 * Memory of its own, no huge pages: only the elements' headers are touched.
 */
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "meter.h"
#include "peer.h"

enum { CACHE = 512 };

static struct rte_mempool *pool;

#if MEMPOOL_CALL
#define PLACED static __attribute__((noinline))
#else
#define PLACED static inline __attribute__((always_inline))
#endif

PLACED void *page_get(void)
{
	void *page;

	return rte_mempool_get(pool, &page) ? NULL : page;
}

PLACED void page_put(void *page)
{
	rte_mempool_put(pool, page);
}

PLACED bool bulk_get(void **out, size_t nr)
{
	return rte_mempool_get_bulk(pool, out, (unsigned int)nr) == 0;
}

PLACED void bulk_put(void **in, size_t nr)
{
	rte_mempool_put_bulk(pool, in, (unsigned int)nr);
}

#define block_get page_get
#define block_put page_put

#include "loops.h"

static const char *open_eal(void)
{
	static char arg[][32] = { "quire-bench",
				  "--no-huge",
				  "--no-pci",
				  "--no-shconf",
				  "--no-telemetry",
				  "--lcores=0",
				  "--log-level=error",
				  "-m",
				  "2560" };
	char *argv[sizeof(arg) / sizeof(*arg) + 1] = { NULL };
	size_t i;

	for (i = 0; i < sizeof(arg) / sizeof(*arg); i++)
		argv[i] = arg[i];
	return rte_eal_init((int)i, argv) < 0 ? rte_strerror(rte_errno) : NULL;
}

/* Fresh: fewer elements, since each costs a page fault to make. */
static const char *open_pool(const struct plan *plan)
{
	size_t bytes =
		plan->aged || plan->order ? plan->bytes : plan->bytes / 8;
	size_t element = (size_t)PEER_PAGE << plan->order;
	const char *why = open_eal();

	if (why)
		return why;
	pool = rte_mempool_create("pages", (unsigned int)(bytes / element),
				  (unsigned int)element,
				  plan->order ? CACHE / 16 : CACHE, 0, NULL,
				  NULL, NULL, NULL, (int)rte_socket_id(), 0);
	return pool ? NULL : rte_strerror(rte_errno);
}

static void thread_begin(void)
{
	if (rte_thread_register())
		meter_fail("mempool: no number for a thread");
}

static void thread_end(void)
{
	rte_mempool_cache_flush(NULL, pool);
	rte_thread_unregister();
}

static long nr_out(void)
{
	return (long)rte_mempool_in_use_count(pool);
}

const struct peer peer = { PEER_LOOPS, .open = open_pool,
			   .thread_begin = thread_begin,
			   .thread_end = thread_end, .nr_out = nr_out };
