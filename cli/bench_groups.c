/* SPDX-License-Identifier: MIT */
/*
 * A zone with groups below one root, as the benches of groups need it.
 *
 * The zone is large enough never to run low, so that what is reclaimed is
 * reclaimed because of limits, by whoever meets them; background threads, which
 * are for zones that run low, are not started.
 */
#include "bench_groups.h"
#include "bench_memory.h"

#include <errno.h>
#include <string.h>

enum { SPARE_PAGES = 32768 }; /* in lists of CPUs, and below watermarks */

static int open_zone(struct pool *pool, const struct pool_spec *spec)
{
	struct quire_region_options ro = { .size = sizeof(ro),
					   .pages = QUIRE_PAGES_4K };
	struct quire_zone_options zo = { .size = sizeof(zo) };
	size_t bytes = (spec->pages + SPARE_PAGES) * MEMORY_PAGE;
	int rc = 0;

	if (spec->memory)
		rc = quire_region_open(bytes, &ro, &pool->region);
	else
		zo.bytes = bytes;
	zo.region = pool->region;
	return rc ? rc : quire_zone_open(&zo, &pool->zone);
}

static int open_groups(struct pool *pool, const struct pool_spec *spec)
{
	struct quire_groups_options go = { .size = sizeof(go),
					   .zones = &pool->zone,
					   .nr_zones = 1,
					   .lru_lock = spec->lru_lock,
					   .flags = QUIRE_GROUPS_NO_THREAD };
	struct quire_owner owner = { .size = sizeof(owner),
				     .arg = pool,
				     .drop = spec->drop };
	int rc = quire_groups_open(&go, &pool->groups);

	return rc || !spec->drop
		       ? rc
		       : quire_owner_add(pool->groups, &owner, &pool->owner);
}

static int add_group(struct pool *pool, uint64_t max)
{
	struct quire_group **to = &pool->group[pool->nr_groups];
	int rc = quire_group_create(quire_groups_root(pool->groups), to);

	if (rc)
		return rc;
	pool->nr_groups++;
	return max ? quire_group_set_limit(*to, QUIRE_GROUP_MAX, max) : 0;
}

int pool_open(struct pool *pool, const struct pool_spec *spec)
{
	int rc;

	*pool = (struct pool){ .owner = QUIRE_OWNER_NONE };
	rc = open_zone(pool, spec);
	if (!rc && !spec->bare)
		rc = open_groups(pool, spec);
	while (!rc && pool->nr_groups < spec->nr_groups)
		rc = add_group(pool, spec->max);
	return -rc;
}

void *pool_page(struct pool *pool, unsigned int group, uint64_t key)
{
	struct quire_page_request request = { .size = sizeof(request),
					      .key = key,
					      .owner = pool->owner };

	return quire_group_page_alloc(pool->group[group], &request);
}

void pool_locks(struct pool *pool, struct pool_locks *out)
{
	uint64_t c[QUIRE_NR_COUNTERS];

	quire_groups_counters(pool->groups, c);
	*out = (struct pool_locks){ c[QUIRE_COUNTER_group_lock_takes],
				    c[QUIRE_COUNTER_group_lock_contended],
				    c[QUIRE_COUNTER_group_lock_hold_cycles],
				    c[QUIRE_COUNTER_group_activated] };
}

int pool_close(struct pool *pool)
{
	long lost = 0;

	if (pool->groups)
		lost |= quire_groups_close(pool->groups);
	if (pool->zone)
		lost |= quire_zone_close(pool->zone);
	if (pool->region)
		lost |= quire_region_close(pool->region);
	*pool = (struct pool){ .owner = QUIRE_OWNER_NONE };
	return lost ? EBADMSG : 0;
}

const char *pool_error(int error)
{
	return error == EBADMSG ? "pages were lost, or were not what they were"
				: strerror(error);
}
