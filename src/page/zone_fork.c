/* SPDX-License-Identifier: MIT */
/*
 * fork with zones.
 *
 * Whoever takes a lock of a zone (drain, shards, depot) is inside the zone's
 * gate, but for memory on its way to the kernel, which has a lock of its own.
 * So prepare holds the registry, closes all gates, waits until nobody is
 * inside, and then knows that all those locks are free and every page is in its
 * place, without taking a number of locks that has no bound.  It waits for no
 * call to the kernel: pieces that are lent come back in the child [Y1].
 *
 *	zones lock ── gates ── decay lock ── lent lock ── (regions, pool)
 *
 * Threads go on while the kernel copies their memory page by page, so a child
 * sees what they write meanwhile in no order at all: one list without the page
 * that was taken from it, another already with it.  So CPUs' lists are closed
 * over a fork, too, and whoever calls goes to the gate.  What is left is a page
 * for each thread that was in no list when they were closed (spec P12), and
 * what handlers put off meanwhile: in the child these belong to nobody.
 *
 * A zone whose memory both processes would write (QUIRE_ZONE_SHARED), or that
 * the child does not have, or whose lists could not be closed (no membarrier
 * any more), is offline there: its lists are put out of reach, and the slow
 * path refuses.
 *
 * fork in a signal handler that interrupted the slow path, or a callback of it:
 * nothing is waited for, because it might be ourselves.  In such a child zones
 * are offline, and a fork of its own is such a fork again.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "page/lend.h"
#include "page/slow.h"
#include "region/area.h"

static __thread unsigned int interrupting
	__attribute__((tls_model("initial-exec")));
/* This process is a child of such a fork. */
static bool cut_off;

static struct quire_zone *zone_of(struct list *item)
{
	return container_of(item, struct quire_zone, link);
}

static void close_gate(struct quire_zone *zone)
{
	__atomic_fetch_or(&zone->gate, GATE_CLOSED, __ATOMIC_ACQ_REL);
}

/* Pairs with the release of whoever left. */
static void wait_until_empty(struct quire_zone *zone)
{
	uint32_t word;

	while ((word = load_acquire(&zone->gate)) != GATE_CLOSED)
		os->wait(&zone->gate, word, UINT64_MAX);
}

/* The gate is empty, so nobody else closes or opens. */
static void close_lists(struct quire_zone *zone)
{
	zone->fork_torn = pcp_nr_cpus(zone) && percpu_close_all(&zone->percpu);
	zone->fork_deferred = load_acquire(&zone->deferred);
	zone->fork_nr_deferred = load_relaxed(&zone->nr_deferred);
}

static void open_lists(struct quire_zone *zone)
{
	if (zone->nr_disabled || zone->fork_torn)
		return;
	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		percpu_open(&zone->percpu, cpu);
}

static void open_gate(struct quire_zone *zone)
{
	__atomic_fetch_and(&zone->gate, ~GATE_CLOSED, __ATOMIC_RELEASE);
	os->wake(&zone->gate);
}

static void prepare(void)
{
	if (cut_off || gate_depth() || lock_holds_from(RANK_ZONES)) {
		interrupting++;
		return;
	}
	lock_take(zones_lock());
	list_for_each (item, zones_all())
		close_gate(zone_of(item));
	list_for_each (item, zones_all()) {
		wait_until_empty(zone_of(item));
		close_lists(zone_of(item));
	}
	decay_fork_prepare();
	lend_lock();
}

static void in_parent(void)
{
	if (interrupting) {
		interrupting--;
		return;
	}
	lend_unlock();
	decay_fork_parent();
	list_for_each (item, zones_all()) {
		open_lists(zone_of(item));
		open_gate(zone_of(item));
	}
	lock_release(zones_lock());
}

/* The child */

static bool is_elsewhere(const struct quire_zone *zone)
{
	if (zone->flags & QUIRE_ZONE_SHARED || zone->fork_torn)
		return true;
	return zone->backing == BACKING_REGION &&
	       zone->region->flags & QUIRE_REGION_NO_FORK;
}

static void go_offline(struct quire_zone *zone)
{
	uint32_t closed = zone->percpu.offset[PERCPU_CLOSED_LIST];

	store_relaxed(&zone->offline, 1);
	for (unsigned int order = 0; order <= PCP_MAX_ORDER; order++)
		for (unsigned int type = 0; type < NR_TYPES; type++)
			zone->fast[order][type] = closed;
}

static void go_on(struct quire_zone *zone)
{
	zone->gate = 0;
	zone->forked = 1;
	zone->reclaiming = 0;
	zone->moving = 0;
	zone->pins = 0;
	lock_reset_in_child(&zone->drain_lock);
	for (unsigned int i = 0; i < zone->nr_buddies; i++)
		lock_reset_in_child(&zone->buddies[i].lock);
	lock_reset_in_child(&zone->depot.lock);
	percpu_fork_child(&zone->percpu);
	open_lists(zone);
	zone->deferred = zone->fork_deferred;
	zone->nr_deferred = zone->fork_nr_deferred;
	if (is_elsewhere(zone))
		go_offline(zone);
}

static void in_child_interrupted(void)
{
	cut_off = true;
	list_for_each (item, zones_all())
		go_offline(zone_of(item));
}

static void in_child(void)
{
	if (interrupting) {
		interrupting--;
		in_child_interrupted();
		return;
	}
	lock_reset_in_child(zones_lock());
	list_for_each (item, zones_all())
		go_on(zone_of(item));
	lend_fork_child();
	decay_fork_child();
}

static int start_error;

/*
 * At load, while there is one thread, and after regions (area_fork.c): what is
 * registered last prepares first, and has the outer locks.
 */
__attribute__((constructor(1002))) static void watch_forks(void)
{
	start_error = os->at_fork(prepare, in_parent, in_child);
}

int zone_at_fork(void)
{
	return start_error ? start_error : area_fork_error();
}
