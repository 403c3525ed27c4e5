/* SPDX-License-Identifier: MIT */
/*
 * Batches: what a CPU collects for lists, to take their locks seldom.
 *
 *	add	   pages that are on no list yet
 *	activate   used for the second time
 *	deactivate will not be used soon
 *	rotate	   clean now: to be dropped next
 *
 * A page in a batch has a reference of the batch's, and nothing else of it is
 * changed (G3); when the batch is full, it is owned, moved, and put.
 *
 * [M1] A chunk is done group by group, in order of their first page in it, and
 *	within a group in the chunk's order (spec I-B6): one lock for each
 *	group, no sorting, no stack but a word of bits.  Where all pages are of
 *	one group that is one pass that compares.
 * [M2] References are given up behind the lock (R5, spec X9).
 */
#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

#define LIST_OF(which) (1u + (which))

static uint32_t offset_of(const struct node *node, enum batch which)
{
	return node->batches.offset[LIST_OF(which)];
}

int batch_init(struct node *node, enum percpu_mode want)
{
	uint32_t entries[1 + NR_BATCHES] = { 0 };
	int error;

	for (unsigned int i = 0; i < NR_BATCHES; i++)
		entries[LIST_OF(i)] = BATCH_PAGES;
	error = percpu_init(&node->batches, ARRAY_SIZE(entries), entries, want);
	if (error)
		return error;
	for (uint32_t cpu = 0; !CONFIG_UP && cpu < node->batches.nr_cpus; cpu++)
		for (unsigned int i = 0; i < NR_BATCHES; i++)
			percpu_set_limit(percpu_slot(&node->batches, cpu,
						     offset_of(node, i)),
					 BATCH_PAGES);
	return 0;
}

uint32_t chunk_part(struct node *node, const uint32_t *pages, uint32_t *left)
{
	uint32_t part = 0, group = 0;

	for (uint32_t bits = *left; bits; bits &= bits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(bits);
		uint32_t its = load_relaxed(&node->page[pages[i]].group);

		if (!part)
			group = its;
		if (its == group)
			part |= 1u << i;
	}
	*left &= ~part;
	return part;
}

/* One page, under its lock: what is to become of it */

static bool wants_move(struct group_page *gp, enum batch which)
{
	enum lru list = page_list(page_flags(gp));
	bool active = list & LRU_ACTIVE;

	if (which == BATCH_ADD)
		return true;
	if (list == LRU_UNEVICTABLE)
		return false;
	return which == BATCH_ACTIVATE ? !active
	       : which == BATCH_ROTATE ? !active
				       : true;
}

/* What it wants from now on; pages that count as moved. */
static uint32_t want(struct group_page *gp, enum batch which)
{
	uint32_t flags = page_flags(gp), nr = page_nr(flags);

	if (which == BATCH_ACTIVATE)
		page_set(gp, GP_WANT_ACTIVE);
	if (which != BATCH_DEACTIVATE)
		return nr;
	page_clear(gp, GP_WANT_ACTIVE | GP_REFERENCED);
	return page_list(flags) & LRU_ACTIVE ? nr : 0;
}

/* Once for the pages of one group. */
static void count_moved(struct group *group, enum batch which, uint64_t nr)
{
	static const enum group_count counts[] = {
		[BATCH_ADD] = GROUP_ADDED,
		[BATCH_ACTIVATE] = GROUP_ACTIVATED,
		[BATCH_DEACTIVATE] = GROUP_DEACTIVATED,
	};

	if (which == BATCH_ROTATE)
		return;
	group_count(group, counts[which], nr);
	if (which == BATCH_ACTIVATE)
		add_relaxed(&group->age, nr);
}

struct move {
	enum batch which;
	struct lruvec *vec; /* locked; or NULL */
	uint64_t moved;	    /* pages of the group that vec is of */
};

/* Returns true as lruvec_link_locked. */
static bool move_one(struct node *node, struct move *move, uint32_t page)
{
	struct group_page *gp = &node->page[page];

	if (move->which != BATCH_ADD) {
		move->vec = page_lruvec_relock(node, gp, move->vec);
		if (!move->vec->dead && !wants_move(gp, move->which))
			return page_stays(gp);
		lruvec_unlink_locked(move->vec, page);
	}
	move->vec = page_lruvec_relock_live(node, gp, move->vec);
	move->moved += want(gp, move->which);
	return lruvec_link_locked(move->vec, page,
				  move->which == BATCH_DEACTIVATE ||
					  move->which == BATCH_ROTATE);
}

/* Chunks */

static uint32_t own_all(struct node *node, enum batch which,
			const uint32_t *pages, uint32_t nr)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (which == BATCH_ADD ||
		    page_test_clear(&node->page[pages[i]], GP_LRU))
			left |= 1u << i;
	return left;
}

/* Pages of one group; returns those to be reconsidered, as bits. */
static uint32_t move_part(struct node *node, struct move *move,
			  const uint32_t *pages, uint32_t part)
{
	uint32_t again = 0;

	move->moved = 0;
	for (; part; part &= part - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(part);

		again |= (uint32_t)move_one(node, move, pages[i]) << i;
	}
	if (move->moved)
		count_moved(move->vec->group, move->which, move->moved);
	return again;
}

void batch_move(struct node *node, enum batch which, const uint32_t *pages,
		uint32_t nr)
{
	uint32_t left = own_all(node, which, pages, nr), again = 0;
	struct move move = { .which = which };

	ASSERT(nr <= CHUNK_PAGES);
	STEP("batch: owned, not locked");
	while (left)
		again |= move_part(node, &move, pages,
				   chunk_part(node, pages, &left)); /* [M1] */
	if (move.vec)
		lruvec_unlock(move.vec);
	for (; unlikely(again); again &= again - 1)
		page_reconsider(node, pages[__builtin_ctz(again)]);
	groups_count(node->groups, GROUPS_BATCH);
	pages_put(node, pages, nr); /* [M2] */
}

/* A CPU's own */

static __attribute__((noinline)) void push_full(struct node *node,
						enum batch which, uint32_t page)
{
	uint32_t pages[CHUNK_PAGES], nr = 0;

	if (!CONFIG_UP &&
	    percpu_push(&node->batches, offset_of(node, which), page))
		return;
	if (!CONFIG_UP)
		nr = percpu_pop_oldest(&node->batches, offset_of(node, which),
				       pages, BATCH_PAGES);
	pages[nr++] = page;
	batch_move(node, which, pages, nr);
}

void batch_push(struct node *node, enum batch which, uint32_t page)
{
	if (unlikely(!slot_push(&node->batches, offset_of(node, which), page)))
		push_full(node, which, page);
}

void batch_flush_own(struct node *node)
{
	uint32_t pages[CHUNK_PAGES], nr;

	for (unsigned int i = 0; !CONFIG_UP && i < NR_BATCHES; i++) {
		nr = percpu_pop_oldest(&node->batches, offset_of(node, i),
				       pages, CHUNK_PAGES);
		if (nr)
			batch_move(node, (enum batch)i, pages, nr);
	}
}

/* All CPUs' */

static bool any_page(struct node *node)
{
	for (uint32_t cpu = 0; cpu < node->batches.nr_cpus; cpu++)
		for (unsigned int i = 0; i < NR_BATCHES; i++)
			if (slot_count(percpu_slot(&node->batches, cpu,
						   offset_of(node, i))))
				return true;
	return false;
}

static void flush_closed(struct node *node, unsigned int cpu)
{
	uint32_t pages[NR_BATCHES][CHUNK_PAGES], nr[NR_BATCHES];

	for (unsigned int i = 0; i < NR_BATCHES; i++)
		nr[i] = slot_take_closed(
			percpu_slot(&node->batches, cpu, offset_of(node, i)),
			pages[i], CHUNK_PAGES);
	percpu_open(&node->batches, cpu);
	for (unsigned int i = 0; i < NR_BATCHES; i++)
		if (nr[i])
			batch_move(node, (enum batch)i, pages[i], nr[i]);
}

bool batch_flush_all(struct node *node)
{
	struct lock *lock = &node->groups->drain_lock;
	bool any;

	if (CONFIG_UP || !any_page(node))
		return false;
	lock_take(lock);
	any = any_page(node) && !percpu_close_all(&node->batches);
	for (uint32_t cpu = 0; any && cpu < node->batches.nr_cpus; cpu++)
		flush_closed(node, cpu);
	lock_release(lock);
	return any;
}
