/* SPDX-License-Identifier: MIT */
/*
 * Waiting for room.
 *
 * One word for an instance changes with every event that could make room:
 * something is uncharged, unpinned, put back, a limit changes.  Who waits reads
 * it, tries, and sleeps as long as it has not changed since.
 *
 * [W1] Nothing is charged while a call sleeps, so callers that want more
 *	together than there is cannot keep each other from it: whoever has all it
 *	wants goes on, and gives it back some time.
 * [W2] While anyone waits, no CPU keeps a stock (stock.c), so each uncharge is
 *	an event.
 * [W3] An event looks for waiters after what it tells of is done (an access in
 *	the one order of SEQ_CST), a waiter tries after it is counted: one of
 *	them sees the other.
 */
#include <errno.h>

#include "base/step.h"
#include "group/group.h"

void groups_event(struct quire_groups *groups)
{
	/* pairs with begin_wait [W3] */
	if (likely(!__atomic_load_n(&groups->nr_waiters, __ATOMIC_SEQ_CST)))
		return;
	__atomic_fetch_add(&groups->event, 1, __ATOMIC_RELEASE);
	os->wake(&groups->event);
}

static void begin_wait(struct quire_groups *groups)
{
	__atomic_fetch_add(&groups->nr_waiters, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end_wait(struct quire_groups *groups)
{
	__atomic_fetch_sub(&groups->nr_waiters, 1, __ATOMIC_RELEASE);
}

void groups_nap(struct quire_groups *groups, uint64_t ms)
{
	uint32_t event;

	groups_count(groups, GROUPS_WAITS);
	begin_wait(groups);
	event = load_acquire(&groups->event);
	os->wait(&groups->event, event, ms);
	end_wait(groups);
}

static size_t missing(struct group *group, uint64_t nr)
{
	uint64_t most = 0;

	for (; group; group = group->parent) {
		uint64_t want = group_usage(group) + nr;
		uint64_t max = group_limit(group, QUIRE_GROUP_MAX);

		if (want > max && want - max > most)
			most = want - max;
	}
	return (size_t)most;
}

static bool fits_at_all(struct group *group, uint64_t nr)
{
	for (; group; group = group->parent)
		if (nr > group_limit(group, QUIRE_GROUP_MAX))
			return false;
	return true;
}

static uint64_t left_of(uint64_t begun, uint64_t timeout_ms)
{
	uint64_t passed;

	if (timeout_ms == UINT64_MAX)
		return UINT64_MAX;
	passed = os->now_ms() - begun;
	return passed < timeout_ms ? timeout_ms - passed : 0;
}

static int charge_or_wait(struct group *group, uint64_t nr, uint64_t timeout_ms)
{
	struct quire_groups *groups = group->groups;
	uint64_t begun = os->now_ms(), left;
	int error;

	for (;;) {
		/* pairs with the release of an event */
		uint32_t event = load_acquire(&groups->event);

		stock_forget(groups); /* [W2] */
		error = group_charge(group, nr, 0);
		left = left_of(begun, timeout_ms);
		if (error != -EBUSY || !fits_at_all(group, nr))
			return error;
		if (!left)
			return -ETIMEDOUT;
		STEP("reserve: waits");
		groups_count(groups, GROUPS_WAITS);
		os->wait(&groups->event, event, left);
	}
}

int group_reserve(struct group *group, uint64_t nr, uint64_t timeout_ms,
		  size_t *shortfall)
{
	struct quire_groups *groups = group->groups;
	int error = group_charge(group, nr, 0);

	if (error == -EBUSY && timeout_ms) {
		begin_wait(groups);
		error = charge_or_wait(group, nr, timeout_ms);
		end_wait(groups);
	}
	if (error && shortfall && error != -ESTALE)
		*shortfall = missing(group, nr);
	return error;
}
