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

enum {
	SPARE_PAGES = 16384,   /* in lists of CPUs, and below watermarks */
	LEAST_PAGES = 1 << 18, /* a smaller zone moves smaller batches */
};

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

static void touch(void **page, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		*(volatile char *)page[i] = 1;
}

/*
 * As the zone stands when it has been used for a while: memory is behind the
 * pages that are free first.  Of @nr that are taken, @kept stay out.
 */
static int wear(size_t nr, size_t kept)
{
	int error;

	pool.out = calloc(nr, sizeof(*pool.out));
	error = pool.out ? pages_take(pool.out, nr) : ENOMEM;
	if (error)
		return error;
	if (kept)
		shuffle(pool.out, nr);
	pool.nr_out = kept;
	touch(pool.out + kept, nr - kept);
	return pages_give(pool.out + kept, nr - kept);
}

static int open_zone(int body, size_t nr_pages)
{
	struct quire_region_options ro = { .size = sizeof(ro),
					   .pages = QUIRE_PAGES_4K };
	struct quire_zone_options zo = { .size = sizeof(zo),
					 .drain = bodies[body].drain,
					 .flags = bodies[body].flags };
	int rc = quire_region_open(nr_pages * MEMORY_PAGE, &ro, &pool.region);

	zo.region = pool.region;
	return -(rc ? rc : quire_zone_open(&zo, &pool.zone));
}

int pages_open(const char *name, unsigned int tasks, size_t nr)
{
	size_t used = tasks * nr + SPARE_PAGES / 2, whole;
	bool aged;
	int body = find(name, &aged), error;

	whole = (aged ? 2 : 1) * used + SPARE_PAGES;
	if (whole < LEAST_PAGES)
		whole = LEAST_PAGES;
	error = open_zone(body, whole);
	if (!error && aged)
		error = wear(whole - SPARE_PAGES, (whole - SPARE_PAGES) / 2);
	else if (!error)
		error = wear(used, 0);
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
