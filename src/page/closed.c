/* SPDX-License-Identifier: MIT */
/*
 * Lists of CPUs that are closed: to drain them from elsewhere, to keep them
 * empty, and to shrink what nobody uses.
 *
 *	close ── take all ── give ── open		drain
 *	close ── take all ── give ── … ── open		disable … enable
 *
 * Closing waits for a section that runs on that CPU to end, never the other way
 * round: who finds a list closed goes to the free lists (spec C.9-2, X6).
 *
 * [O1] One closes and opens at a time: the drain lock.
 * [O2] While nr_disabled is not 0 all lists are closed and empty, and so is the
 *	depot.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "page/slow.h"

static struct slot *list_of(const struct quire_zone *zone, unsigned int cpu,
			    unsigned int list)
{
	return percpu_slot(&zone->percpu, cpu, zone->percpu.offset[list]);
}

static size_t take_all(struct quire_zone *zone, unsigned int cpu)
{
	uint32_t pages[CHUNK], nr;
	size_t taken = 0;

	for (unsigned int list = 1; list < NR_PCP_LISTS; list++) {
		struct slot *slot = list_of(zone, cpu, list);
		unsigned int order = pcp_list_order(list);

		while ((nr = slot_take_closed(slot, pages, CHUNK))) {
			taken += (size_t)nr << order;
			STEP("closed: taken, not given");
			shards_give_batch(zone, order, pages, nr);
		}
		plan_settle(slot);
	}
	return taken;
}

static void enter(struct quire_zone *zone)
{
	gate_enter(zone, false);
	lock_take(&zone->drain_lock);
}

static void leave(struct quire_zone *zone)
{
	lock_release(&zone->drain_lock);
	gate_leave(zone);
	shards_tell_decay(zone);
}

static long drain_cpu_locked(struct quire_zone *zone, unsigned int cpu)
{
	long taken;
	int error;

	if (zone->nr_disabled) /* [O2] */
		return 0;
	error = percpu_close(&zone->percpu, cpu);
	if (error)
		return error;
	STEP("closed: one CPU");
	taken = (long)take_all(zone, cpu);
	percpu_open(&zone->percpu, cpu);
	zone_count(zone, ZONE_COUNT_DRAIN_REMOTE, 1);
	return taken;
}

long pcp_drain_cpu(struct quire_zone *zone, unsigned int cpu)
{
	long taken = 0;

	enter(zone);
	if (cpu < pcp_nr_cpus(zone))
		taken = drain_cpu_locked(zone, cpu);
	leave(zone);
	return taken;
}

static size_t take_all_cpus(struct quire_zone *zone)
{
	size_t taken = 0;

	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		taken += take_all(zone, cpu);
	return taken;
}

static void open_all(struct quire_zone *zone)
{
	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		percpu_open(&zone->percpu, cpu);
}

static long drain_all_locked(struct quire_zone *zone)
{
	long taken;
	int error;

	if (zone->nr_disabled || !pcp_nr_cpus(zone))
		return 0;
	error = percpu_close_all(&zone->percpu);
	if (error)
		return error;
	STEP("closed: all CPUs");
	taken = (long)take_all_cpus(zone);
	open_all(zone);
	zone_count(zone, ZONE_COUNT_DRAIN_REMOTE, 1);
	return taken;
}

long pcp_drain_all(struct quire_zone *zone)
{
	long taken;

	enter(zone);
	deferred_flush(zone, false);
	taken = drain_all_locked(zone);
	if (taken >= 0)
		taken += (long)pcp_drain_depot(zone, UINT32_MAX);
	leave(zone);
	return taken;
}

static int disable_locked(struct quire_zone *zone)
{
	int error = 0;

	if (!zone->nr_disabled && pcp_nr_cpus(zone))
		error = percpu_close_all(&zone->percpu);
	if (error)
		return error;
	if (!zone->nr_disabled++) {
		depot_close(&zone->depot, true);
		take_all_cpus(zone);
		pcp_drain_depot(zone, UINT32_MAX);
	}
	deferred_flush(zone, false);
	return 0;
}

int pcp_disable(struct quire_zone *zone)
{
	int error;

	enter(zone);
	error = disable_locked(zone);
	leave(zone);
	return error;
}

int pcp_enable(struct quire_zone *zone)
{
	int error = 0;

	enter(zone);
	if (!zone->nr_disabled) {
		error = -EINVAL;
	} else if (!--zone->nr_disabled) {
		depot_close(&zone->depot, false);
		open_all(zone);
	}
	leave(zone);
	return error;
}

/* Decay (spec A11): also of CPUs where nothing happens */

/* Is anything to be drained of a list that nobody uses? */
static bool decay_cpu(struct quire_zone *zone, unsigned int cpu,
		      uint32_t *surplus)
{
	bool any = false;

	for (unsigned int list = 1; list < NR_PCP_LISTS; list++) {
		struct slot *slot = list_of(zone, cpu, list);

		surplus[list] = plan_decay(slot, pcp_list_order(list));
		any |= surplus[list];
	}
	return any;
}

static void drain_surplus(struct quire_zone *zone, unsigned int cpu,
			  const uint32_t *surplus)
{
	uint32_t pages[CHUNK], nr, left;

	for (unsigned int list = 1; list < NR_PCP_LISTS; list++) {
		struct slot *slot = list_of(zone, cpu, list);

		for (left = surplus[list]; left; left -= nr) {
			nr = slot_take_closed(slot, pages,
					      left < CHUNK ? left : CHUNK);
			if (!nr)
				break;
			shards_give_batch(zone, pcp_list_order(list), pages,
					  nr);
		}
		if (surplus[list])
			plan_settle(slot);
	}
}

/* What nobody took from since the last time: an eighth of it. */
static void decay_depot(struct quire_zone *zone)
{
	struct depot *depot = &zone->depot;
	uint32_t nr = 0;

	if (CONFIG_UP || !load_relaxed(&depot->nr_pages))
		return;
	lock_take(&depot->lock);
	for (int type = 0; !depot->nr_gets && type < NR_PCP_TYPES; type++)
		nr += depot->nr_full[type];
	depot->nr_gets = 0;
	lock_release(&depot->lock);
	if (nr)
		pcp_drain_depot(zone, (nr + 7) / 8);
}

void pcp_decay(struct quire_zone *zone)
{
	uint32_t surplus[NR_PCP_LISTS];

	enter(zone);
	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++) {
		if (zone->nr_disabled || !decay_cpu(zone, cpu, surplus) ||
		    percpu_close(&zone->percpu, cpu))
			continue;
		drain_surplus(zone, cpu, surplus);
		percpu_open(&zone->percpu, cpu);
		zone_count(zone, ZONE_COUNT_DRAIN_REMOTE, 1);
	}
	decay_depot(zone);
	leave(zone);
}

size_t pcp_count(const struct quire_zone *zone)
{
	size_t pages = 0;

	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		for (unsigned int list = 1; list < NR_PCP_LISTS; list++)
			pages += (size_t)slot_count(list_of(zone, cpu, list))
				 << pcp_list_order(list);
	return pages;
}
