/* SPDX-License-Identifier: MIT */
/*
 * fork with regions.
 *
 * Prepare takes the unmap lock, so that no range is between unmapped and noted
 * [R3], and then the others in rank order.  It may so wait for one unmapping: a
 * few milliseconds, because what is big was discarded before.
 *
 * In the child only the forking thread is left.  Claims of others are dropped:
 * their ranges stay the region's.  Releases on their way begin anew with the
 * child's own copy of the memory; a region that is not inherited has none, and
 * at its addresses may be anything.
 */
#include "base/assert.h"
#include "os/lock.h"
#include "region/area.h"

/*
 * In a handler that interrupted us with a lock held, nothing is waited for: it might be ourselves.  Such a
 * child may call nothing of ours but what handlers may.
 */
static __thread unsigned int interrupting
	__attribute__((tls_model("initial-exec")));

static void prepare(void)
{
	if (lock_holds_from(RANK_UNMAP)) {
		interrupting++;
		return;
	}
	area_lock_all();
	pool_fork_prepare();
}

static void in_parent(void)
{
	if (interrupting) {
		interrupting--;
		return;
	}
	pool_fork_parent();
	area_unlock_all();
}

static void drop_claims_of_others(struct quire_region *region)
{
	struct list *claims = &region->claims, *next;
	const void *owner;

	for (struct list *item = claims->next; item != claims; item = next) {
		next = item->next;
		owner = container_of(item, struct claim, link)->owner;
		if (owner && owner != pool_this_thread())
			list_remove(item);
	}
}

static void in_child(void)
{
	if (interrupting) {
		interrupting--;
		return;
	}
	pool_fork_child();
	area_locks_in_child();
	list_for_each (item, area_all()) {
		struct quire_region *region =
			container_of(item, struct quire_region, link);

		drop_claims_of_others(region);
		if (region->flags & QUIRE_REGION_NO_FORK)
			region->absent = true;
	}
}

static int start_error;

/*
 * Before zones (page/zone_fork.c), whose locks come first in the order.
 * At load, while there is one thread: later a fork could come between two steps
 * of a first time, and leave the child with half of it.
 */
__attribute__((constructor(1001))) static void watch_forks(void)
{
	start_error = os->at_fork(prepare, in_parent, in_child);
}

int area_fork_error(void)
{
	return start_error;
}
