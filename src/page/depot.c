/* SPDX-License-Identifier: MIT */
/* Magazines: see depot.h, [D1] to [D3]. */
#include "page/depot.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"

/* One mapping: three stacks of pointers, then the magazines. */
static size_t bytes_for(uint32_t nr)
{
	return nr * ((NR_PCP_TYPES + 1) * sizeof(struct magazine *) +
		     sizeof(struct magazine));
}

static void lay_out(struct depot *depot)
{
	struct magazine **stack = depot->memory;
	struct magazine *magazine;
	uint32_t nr = depot->nr_magazines;

	for (int type = 0; type < NR_PCP_TYPES; type++, stack += nr)
		depot->full[type] = stack;
	depot->empty = stack;
	magazine = (struct magazine *)(stack + nr);
	/* The first is on top, so that few are ever touched. */
	for (uint32_t i = nr; i--;)
		depot->empty[depot->nr_empty++] = &magazine[i];
}

int depot_init(struct depot *depot, size_t max_pages)
{
	size_t nr = max_pages / MAGAZINE_PAGES;
	int error;

	*depot = (struct depot){ .nr_magazines = (uint32_t)nr };
	lock_init(&depot->lock, RANK_DEPOT);
	if (!nr)
		return 0;
	depot->bytes = bytes_for(depot->nr_magazines);
	error = os->map(depot->bytes, PAGE_SIZE, &depot->memory);
	if (error) {
		depot->nr_magazines = 0;
		return -ENOMEM;
	}
	lay_out(depot);
	return 0;
}

void depot_destroy(struct depot *depot)
{
	if (depot->memory)
		os->unmap(depot->memory, depot->bytes);
	*depot = (struct depot){ .nr_magazines = 0 };
}

unsigned int depot_take_empty(struct depot *depot, struct magazine **out,
			      unsigned int nr)
{
	unsigned int got = 0;

	if (!depot->nr_magazines)
		return 0;
	lock_take(&depot->lock);
	while (got < nr && depot->nr_empty && !depot->closed)
		out[got++] = depot->empty[--depot->nr_empty];
	lock_release(&depot->lock);
	return got;
}

unsigned int depot_take_full(struct depot *depot, enum migratetype type,
			     struct magazine **out, unsigned int nr)
{
	unsigned int got = 0;

	if (!load_relaxed(&depot->nr_pages)) /* a hint: none, or soon some */
		return 0;
	lock_take(&depot->lock);
	while (got < nr && depot->nr_full[type]) {
		struct magazine *top =
			depot->full[type][--depot->nr_full[type]];

		store_relaxed(&depot->nr_pages, depot->nr_pages - top->nr);
		out[got++] = top;
	}
	depot->nr_gets += got;
	lock_release(&depot->lock);
	return got;
}

static bool put_locked(struct depot *depot, enum migratetype type,
		       struct magazine *magazine)
{
	if (!magazine->nr) {
		depot->empty[depot->nr_empty++] = magazine;
		return true;
	}
	if (depot->closed)
		return false;
	store_relaxed(&depot->nr_pages, depot->nr_pages + magazine->nr);
	depot->full[type][depot->nr_full[type]++] = magazine;
	return true;
}

unsigned int depot_put(struct depot *depot, enum migratetype type,
		       struct magazine **in, unsigned int nr)
{
	unsigned int refused = 0;

	lock_take(&depot->lock);
	for (unsigned int i = 0; i < nr; i++)
		if (!put_locked(depot, type, in[i]))
			in[refused++] = in[i];
	lock_release(&depot->lock);
	return refused;
}

void depot_close(struct depot *depot, bool closed)
{
	lock_take(&depot->lock);
	depot->closed = closed;
	lock_release(&depot->lock);
}

void depot_check(struct depot *depot)
{
	size_t pages = 0;
	uint32_t nr_full = 0;

	lock_take(&depot->lock);
	for (int type = 0; type < NR_PCP_TYPES; type++) {
		nr_full += depot->nr_full[type];
		for (uint32_t i = 0; i < depot->nr_full[type]; i++) {
			uint32_t nr = depot->full[type][i]->nr;

			ASSERT(nr && nr <= MAGAZINE_PAGES);
			pages += nr;
		}
	}
	ASSERT(pages == depot->nr_pages); /* [D2] */
	ASSERT(nr_full + depot->nr_empty <= depot->nr_magazines);
	lock_release(&depot->lock);
}
