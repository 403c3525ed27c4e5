/* SPDX-License-Identifier: MIT */
/*
 * Reclaim for a zone that runs low, and the thread that does it.
 *
 *	zone below low ── hook ── thread "quire/reclaim" ── until above high
 *	zone below min ── hook ── who allocates, for itself
 *
 * The thread is started when it is first wanted, joined at close, and started
 * again in a forked child when it is wanted there.  Where it cannot be, callers
 * do its work.
 *
 * [K1] wanted changes with each call, and the thread reads it before it looks at
 *	the zone; so a call that comes after the look wakes it.
 */
#include "base/step.h"
#include "group/group.h"
#include "page/slow.h"

#define LOOK_PAGES 256u
#define FOR_EVER   UINT64_MAX

static uint64_t reclaim_node(struct node *node, uint64_t nr)
{
	return groups_reclaim(group_of_id(node->groups, GROUP_ROOT), node,
			      max_size(nr, CHUNK_PAGES));
}

static uint64_t below_high(const struct node *node)
{
	size_t usable = zone_usable_pages(node->zone);
	size_t high = node->zone->watermark_high;

	return usable < high ? high - usable : 0;
}

static void reclaim_until_high(struct node *node)
{
	uint64_t nr;

	while (!load_acquire(&node->stop) && (nr = below_high(node))) {
		groups_count(node->groups, GROUPS_BACKGROUND);
		nr = reclaim_node(node, min_size(nr, LOOK_PAGES));
		/* what is free is in this CPU's lists: to where all find it */
		pcp_drain_all(node->zone);
		if (!nr)
			return;
	}
}

static void thread_main(void *arg)
{
	struct node *node = arg;

	while (!load_acquire(&node->stop)) {
		uint32_t seen = load_acquire(&node->wanted); /* [K1] */

		reclaim_until_high(node);
		if (!load_acquire(&node->stop))
			os->wait(&node->wanted, seen, FOR_EVER);
	}
}

static void ring(struct node *node)
{
	__atomic_fetch_add(&node->wanted, 1, __ATOMIC_RELEASE); /* [K1] */
	os->wake(&node->wanted);
}

static int start_locked(struct node *node)
{
	int error;

	if (node->has_thread)
		return 0;
	error = os->thread_start("quire/reclaim", thread_main, node,
				 &node->thread);
	if (error)
		groups_count(node->groups, GROUPS_THREAD_REFUSED);
	else
		store_release(&node->has_thread, true);
	return error;
}

int background_start(struct node *node)
{
	struct lock *lock = &node->groups->thread_lock;
	int error;

	lock_take(lock);
	error = start_locked(node);
	lock_release(lock);
	return error;
}

static bool has_thread(struct node *node)
{
	if (CONFIG_UP || node->groups->flags & QUIRE_GROUPS_NO_THREAD)
		return false;
	return load_acquire(&node->has_thread) || !background_start(node);
}

/* See struct quire_zone_options: called with no lock held. */
size_t node_reclaim_hook(void *arg, size_t nr)
{
	struct node *node = arg;
	bool threaded = has_thread(node);

	if (threaded)
		ring(node);
	if (threaded &&
	    zone_usable_pages(node->zone) >= node->zone->watermark_min + nr)
		return 0;
	groups_count(node->groups, GROUPS_DIRECT);
	return reclaim_node(node, nr);
}

void background_stop(struct node *node)
{
	struct lock *lock = &node->groups->thread_lock;
	bool has;

	lock_take(lock);
	has = node->has_thread;
	lock_release(lock);
	if (!has)
		return;
	store_release(&node->stop, 1);
	ring(node);
	os->thread_join(&node->thread);
	node->has_thread = false;
	store_release(&node->stop, 0); /* it may be wanted again */
}
