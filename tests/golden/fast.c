/* SPDX-License-Identifier: MIT */
/*
 * Goes through the fast paths, some times each, for callgrind to count their
 * instructions.
 *
 * Valgrind knows no restartable sequences, so the area is one that the kernel
 * does not know either: there is one thread and no signal, nothing to restart.
 */
#include <quire/group.h>

#include <stdlib.h>

#include "os/os.h"
#include "percpu/percpu.h"

#define TIMES 100

static __thread struct {
	uint32_t start, cpu;
	uint64_t section;
} area __attribute__((aligned(32)));

static int area_offset(ptrdiff_t *out)
{
	*out = rseq_offset_of(&area);
	return 0;
}

static int register_none(void)
{
	return 0;
}

static int restart_none(int cpu)
{
	(void)cpu;
	return 0;
}

static struct percpu percpu;
static uint32_t list;
static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *group;
static void *used; /* charged, active, and known to be used */

int64_t slot_pop_call(const struct percpu *lists, uint32_t offset);
bool slot_push_call(const struct percpu *lists, uint32_t offset, uint32_t page);
void measured(void);

__attribute__((noinline)) int64_t slot_pop_call(const struct percpu *lists,
						uint32_t offset)
{
	return slot_pop(lists, offset);
}

__attribute__((noinline)) bool slot_push_call(const struct percpu *lists,
					      uint32_t offset, uint32_t page)
{
	return slot_push(lists, offset, page);
}

/* Counting is on in here only. */
__attribute__((noinline)) void measured(void)
{
	for (int i = 0; i < TIMES; i++) {
		int64_t number = slot_pop_call(&percpu, list);
		void *page = quire_page_alloc(zone, 0);
		void *block = quire_block_alloc(zone, 3, QUIRE_MOVABLE);

		if (number < 0 ||
		    !slot_push_call(&percpu, list, (uint32_t)number) || !page ||
		    quire_block_free(zone, page) || !block ||
		    quire_block_free(zone, block))
			abort();
		if (quire_group_charge(group, 1) ||
		    quire_group_uncharge(group, 1) ||
		    quire_group_page_touch(groups, used))
			abort();
	}
}

static void open_groups(void)
{
	struct quire_groups_options options = { .size = sizeof(options),
						.zones = &zone,
						.nr_zones = 1 };
	struct quire_page_request request = { .size = sizeof(request) };

	if (quire_groups_open(&options, &groups) ||
	    quire_group_create(quire_groups_root(groups), &group))
		abort();
	used = quire_group_page_alloc(group, &request);
	for (int i = 0; i < 3; i++)
		if (!used || quire_group_page_touch(groups, used))
			abort();
}

static void close_groups(void)
{
	if (quire_group_page_put(groups, used) || quire_group_delete(group) ||
	    quire_groups_close(groups))
		abort();
}

static void warm_up(void)
{
	void *page = quire_page_alloc(zone, 0);
	void *block = quire_block_alloc(zone, 3, QUIRE_MOVABLE);

	if (!page || !block || quire_block_free(zone, page) ||
	    quire_block_free(zone, block) || !percpu_push(&percpu, list, 7))
		abort();
}

int main(void)
{
	static const uint32_t entries[] = { 0, 64 };
	struct quire_zone_options options = {
		.size = sizeof(options),
		.bytes = 64 << 20,
	};
	struct os_ops table = os_kernel;

	table.rseq_offset = area_offset;
	table.restart_register = register_none;
	table.restart_others = restart_none;
	os = &table;
	if (percpu_init(&percpu, 2, entries, PERCPU_RSEQ) ||
	    percpu.mode != PERCPU_RSEQ || quire_zone_open(&options, &zone))
		return 1;
	list = percpu.offset[1];
	/* The slow paths must find what the fast ones use. */
	area.cpu =
		(uint32_t)(((char *)percpu_here(&percpu, list) - percpu.base) >>
			   PERCPU_SHIFT);
	open_groups();
	warm_up();
	measured();
	close_groups();
	return quire_zone_close(zone) != 0;
}
