/* SPDX-License-Identifier: MIT */
/*
 * The zone that the bodies `pages…` of `quire bench page_fault1` use.
 *
 * `pages` is a zone as it comes.  The others have no depot, so that what a CPU
 * drains goes to the free lists, under their lock, in the way that their name
 * says: that is what was measured when these ways were proposed.
 */
#include "bench_pages.h"
#include "bench_memory.h"
#include "statistics.h"

#include <quire/page.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_PAGES = 16384 }; /* in lists of CPUs, and below watermarks */

static const struct {
	const char *name;
	enum quire_drain drain;
	unsigned int flags;
} bodies[] = {
	{ "pages", QUIRE_DRAIN_SINGLE, 0 },
	{ "pages-single", QUIRE_DRAIN_SINGLE, QUIRE_ZONE_NO_DEPOT },
	{ "pages-pick", QUIRE_DRAIN_PICK, QUIRE_ZONE_NO_DEPOT },
	{ "pages-prefetch", QUIRE_DRAIN_PREFETCH, QUIRE_ZONE_NO_DEPOT },
};
enum { NR_BODIES = sizeof(bodies) / sizeof(*bodies) };

static const char aged_suffix[] = "-aged";

/* Of one process: tasks that are threads share it. */
static struct {
	struct quire_zone *zone;
	struct quire_region *region;
	void **out; /* of an aged zone */
	size_t nr_out;
	struct pages_locks at_open;
} pool;

/* Which body, and is it aged?  -1: none. */
static int find(const char *name, bool *aged)
{
	size_t len = strlen(name), tail = sizeof(aged_suffix) - 1;
	int i;

	*aged = len > tail && !strcmp(name + len - tail, aged_suffix);
	if (*aged)
		len -= tail;
	for (i = 0; i < NR_BODIES; i++)
		if (strlen(bodies[i].name) == len &&
		    !memcmp(bodies[i].name, name, len))
			return i;
	return -1;
}

bool pages_is_body(const char *name)
{
	bool aged;

	return find(name, &aged) >= 0;
}

int pages_take(void **page, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		page[i] = quire_page_alloc(pool.zone, 0);
		if (!page[i])
			return errno;
	}
	return 0;
}

int pages_give(void **page, size_t nr)
{
	int rc = 0, first = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		rc = quire_block_free(pool.zone, page[i]);
		if (rc && !first)
			first = -rc;
	}
	return first;
}

static void shuffle(void **page, size_t nr)
{
	uint64_t seed = 20180301;
	size_t i, k;
	void *t;

	for (i = nr; i > 1; i--) {
		k = statistics_random(&seed, (uint32_t)i);
		t = page[i - 1];
		page[i - 1] = page[k];
		page[k] = t;
	}
}

/* All but the spare pages are taken, and a random half of them given back. */
static int age(size_t nr)
{
	int error;

	pool.out = calloc(nr, sizeof(*pool.out));
	error = pool.out ? pages_take(pool.out, nr) : ENOMEM;
	if (error)
		return error;
	shuffle(pool.out, nr);
	pool.nr_out = nr / 2;
	return pages_give(pool.out + pool.nr_out, nr - pool.nr_out);
}

static int open_zone(int body, size_t nr_pages)
{
	struct quire_region_options ro = { .size = sizeof(ro),
					   .pages = QUIRE_PAGES_4K };
	struct quire_zone_options zo = { .size = sizeof(zo),
					 .drain = bodies[body].drain,
					 .flags = bodies[body].flags };
	size_t bytes = nr_pages * MEMORY_PAGE;
	int rc = quire_region_open(bytes, &ro, &pool.region);

	/* as it stands when each page was used once */
	if (!rc)
		rc = quire_region_populate(pool.region, 0, bytes, NULL);
	zo.region = pool.region;
	return -(rc ? rc : quire_zone_open(&zo, &pool.zone));
}

int pages_open(const char *name, unsigned int tasks, size_t nr)
{
	size_t used = tasks * nr;
	bool aged;
	int body = find(name, &aged), error;

	if (aged)
		used *= 2;
	error = open_zone(body, used + SPARE_PAGES);
	if (!error && aged)
		error = age(used);
	if (!error)
		pages_locks(&pool.at_open);
	return error;
}

void pages_locks(struct pages_locks *out)
{
	uint64_t c[QUIRE_NR_COUNTERS];

	quire_zone_counters(pool.zone, c);
	*out = (struct pages_locks){
		c[QUIRE_COUNTER_zone_lock_takes] - pool.at_open.takes,
		c[QUIRE_COUNTER_zone_lock_contended] - pool.at_open.contended,
		c[QUIRE_COUNTER_zone_lock_hold_cycles] -
			pool.at_open.hold_cycles
	};
}

int pages_close(void)
{
	long lost = quire_zone_close(pool.zone) - (long)pool.nr_out;

	quire_region_close(pool.region);
	free(pool.out);
	return lost ? EBADMSG : 0;
}
