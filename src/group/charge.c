/* SPDX-License-Identifier: MIT */
/*
 * Charging, and limits.
 *
 *	charge ── stock of this CPU
 *	   │ not enough
 *	   ├── STOCK_PAGES at each level up to the root ── the rest is left here
 *	   │ a level is at max
 *	   ├── as many as were asked for, exactly
 *	   │ still
 *	   └── stocks of all CPUs, reclaim below that level, batches of all CPUs
 *		   │ nothing helped
 *		 -EBUSY
 *
 * [U1] A level never has more than max, not for an instant: pages are added by
 *	compare-and-swap.  A charge that fails higher up has been on the lower
 *	levels for a while, though; so taking it off again is an event like an
 *	uncharge, and who was refused for it and waits looks again.
 * [U2] A limit of a few pages works: nothing is kept back there that is not
 *	taken back before a charge is refused.
 * [U3] The number of rounds is bounded: by RETRIES that gained nothing, and by
 *	ROUNDS in all.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

#define RETRIES	     2u
#define ROUNDS	     64u
#define RECLAIM_MIN  32u
#define THROTTLE_MAX 100u /* ms */

static void note_peak(struct group *group, uint64_t usage)
{
	uint64_t peak = load_relaxed(&group->peak);

	while (usage > peak && !cas_acquire(&group->peak, peak, usage))
		peak = load_relaxed(&group->peak);
}

static bool add_at(struct group *group, uint64_t nr)
{
	uint64_t old, pages;

	do {
		old = load_relaxed(&group->usage);
		pages = PAGES_OF(old) + nr;
		if (pages > group_limit(group, QUIRE_GROUP_MAX)) /* [U1] */
			return false;
	} while (!cas_acq_rel(&group->usage, old, old + nr));
	note_peak(group, pages);
	return true;
}

/* From @group up to, and without, @end. */
static void sub_below(struct group *group, const struct group *end, uint64_t nr)
{
	while (group != end) {
		struct group *parent = group->parent; /* it may be freed */

		group_sub(group, nr);
		group = parent;
	}
}

struct group *charge_try(struct group *group, uint64_t nr)
{
	struct group *at;

	for (at = group; at; at = at->parent) {
		if (add_at(at, nr))
			continue;
		if (at != group) {
			sub_below(group, at, nr);
			groups_event(at->groups);
		}
		return at;
	}
	return NULL;
}

void uncharge_exact(struct group *group, uint64_t nr)
{
	struct quire_groups *groups = group->groups;

	sub_below(group, NULL, nr);
	groups_event(groups);
}

/* Above high */

static uint64_t above(uint64_t usage, uint64_t limit)
{
	return usage > limit ? usage - limit : 0;
}

static void throttle(struct group *group)
{
	uint64_t high = group_limit(group, QUIRE_GROUP_HIGH);
	uint64_t over = above(group_usage(group), high);

	if (over > high / 8)
		groups_nap(group->groups,
			   min_size(over * 100 / (high + 1) + 1, THROTTLE_MAX));
}

static void look_at_high(struct group *group, unsigned int flags)
{
	for (; group; group = group->parent) {
		uint64_t over = above(group_usage(group),
				      group_limit(group, QUIRE_GROUP_HIGH));

		if (likely(!over))
			continue;
		group_count(group, GROUP_HIGH, 1);
		if (flags & CHARGE_NO_RECLAIM || reclaim_under_way())
			continue;
		groups_reclaim(group, NULL, min_size(over, 2 * STOCK_PAGES));
		throttle(group);
	}
}

/* At max */

static bool flush_batches(struct quire_groups *groups)
{
	bool any = false;

	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		any |= batch_flush_all(&groups->node[i]);
	return any;
}

/* Stocks of all CPUs could be much of it. */
static bool is_small(const struct quire_groups *groups, uint64_t max)
{
	return max < 8 * STOCK_PAGES * (uint64_t)groups->stock.nr_cpus;
}

/* True: something has changed.  Taking stocks back stops other CPUs: first where
 * limits are small, else only before a charge is refused [U2]. */
static bool make_room(struct group *at, uint64_t nr)
{
	uint64_t max = group_limit(at, QUIRE_GROUP_MAX);
	uint64_t need = above(group_usage(at) + nr, max);

	if (!need || (is_small(at->groups, max) && stock_drain(at->groups)))
		return true;
	groups_count(at->groups, GROUPS_DIRECT);
	if (groups_reclaim(at, NULL,
			   max_size(need, min_size(RECLAIM_MIN, max / 8))))
		return true;
	return stock_drain(at->groups) || flush_batches(at->groups);
}

static bool can_never(const struct group *at, uint64_t nr)
{
	return nr > group_limit(at, QUIRE_GROUP_MAX);
}

static int charge_or_reclaim(struct group *group, uint64_t nr,
			     unsigned int flags)
{
	unsigned int retries = RETRIES, rounds = ROUNDS;
	struct group *at;

	while ((at = charge_try(group, nr))) {
		STEP("charge: at max");
		group_count(at, GROUP_AT_MAX, 1);
		if (flags & CHARGE_NO_RECLAIM || reclaim_under_way()) {
			if (!stock_drain(at->groups))
				return -EBUSY;
		} else if (can_never(at, nr) ||
			   (!make_room(at, nr) && !retries--)) {
			group_count(at, GROUP_FAILED, 1);
			return -EBUSY;
		}
		if (!rounds--) {
			group_count(at, GROUP_FAILED, 1);
			return -EBUSY;
		}
	}
	return 0;
}

static int charge_ahead(struct group *group, uint64_t nr, unsigned int flags)
{
	bool stocked;
	int error = 0;

	groups_count(group->groups, GROUPS_CHARGE_SLOW);
	if (load_acquire(&group->dead))
		return -ESTALE;
	stocked = nr < STOCK_PAGES / 2 && !charge_try(group, STOCK_PAGES);
	if (!stocked)
		error = charge_or_reclaim(group, nr, flags);
	if (error)
		return error;
	if (unlikely(load_acquire(&group->dead))) {
		uncharge_exact(group, stocked ? STOCK_PAGES : nr);
		return -ESTALE;
	}
	if (stocked)
		stock_leave(group, STOCK_PAGES - (uint32_t)nr);
	look_at_high(group, flags);
	return 0;
}

int group_charge_slow(struct group *group, uint64_t nr, unsigned int flags)
{
	struct quire_groups *groups = group->groups;

	if (nr <= STOCK_PAGES &&
	    percpu_stock_take(&groups->stock, groups->stock_offset, group->id,
			      (uint32_t)nr))
		return 0;
	return charge_ahead(group, nr, flags);
}

void group_uncharge_slow(struct group *group, uint64_t nr)
{
	struct quire_groups *groups = group->groups;
	uint32_t offset = groups->stock_offset, half = STOCK_PAGES / 2;

	if (nr > half) {
		uncharge_exact(group, nr);
		return;
	}
	if (percpu_stock_put(&groups->stock, offset, group->id, (uint32_t)nr,
			     STOCK_PAGES))
		return;
	if (percpu_stock_take(&groups->stock, offset, group->id, half))
		uncharge_exact(group, half);
	stock_leave(group, (uint32_t)nr);
}

/* Limits */

/* Until it fits, or nothing more can be had. */
static int bring_below(struct group *group, enum quire_group_limit which)
{
	unsigned int retries = RETRIES;
	uint64_t over;

	while ((over = above(group_usage(group), group_limit(group, which)))) {
		if (stock_drain(group->groups) ||
		    groups_reclaim(group, NULL, over))
			continue;
		if (!flush_batches(group->groups) && !retries--) {
			stock_forget(group->groups);
			return -EBUSY;
		}
	}
	return 0;
}

int group_set_limit(struct group *group, enum quire_group_limit which,
		    uint64_t pages)
{
	struct quire_groups *groups = group->groups;
	int error = 0;

	if (which <= QUIRE_GROUP_LOW && pages)
		store_relaxed(&groups->any_protection, 1);
	__atomic_store_n(&group->limit[which], pages, __ATOMIC_SEQ_CST);
	if (which >= QUIRE_GROUP_HIGH)
		error = bring_below(group, which);
	groups_event(groups);
	return which == QUIRE_GROUP_MAX ? error : 0;
}
