/* SPDX-License-Identifier: MIT */
/*
 * Stocks: pages charged in advance, that a CPU charges from without a lock.
 *
 *	CPU 0 ── word 0: group 8, 17 pages    a group's word is that of the low
 *	      ── word 1: group 1, 63 pages    bits of its id; another's pages
 *	      ── …			      there are uncharged when it comes
 *
 * [O1] The fast path takes and puts only where the word is the group's already;
 *	a word changes hands only here.  So who has drained all stocks knows
 *	that there will be none until somebody leaves one.
 * [O2] None is left for a dead group, nor where a level has more than its max
 *	(a limit that was lowered below what is pinned; it must not be charged
 *	from there), nor while somebody waits for room:
 *	leaving looks after it has stored, and who makes it so drains after it
 *	has said so; one of them sees the other.
 */
#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

int stock_init(struct quire_groups *groups, enum percpu_mode want)
{
	static const uint32_t entries[] = { 0, STOCK_ENTRIES };
	int error =
		percpu_init(&groups->stock, ARRAY_SIZE(entries), entries, want);

	if (!error)
		groups->stock_offset = groups->stock.offset[1];
	return error;
}

static bool is_over(const struct group *group)
{
	for (; group; group = group->parent)
		if (unlikely(group_usage(group) >
			     group_limit(group, QUIRE_GROUP_MAX)))
			return true;
	return false;
}

static bool unwanted(const struct group *group)
{
	return load_acquire(&group->dead) ||
	       load_acquire(&group->groups->nr_waiters) || is_over(group);
}

static void uncharge_word(struct quire_groups *groups, uint64_t word)
{
	if (STOCK_NUMBER(word))
		uncharge_exact(group_of_id(groups, STOCK_KEY(word)),
			       STOCK_NUMBER(word));
}

/* Puts them into the word; true: they are there. */
static bool leave(struct group *group, uint32_t nr)
{
	struct quire_groups *groups = group->groups;
	uint32_t offset = groups->stock_offset;
	uint64_t old;

	if (percpu_stock_put(&groups->stock, offset, group->id, nr,
			     STOCK_PAGES))
		return true;
	if (!percpu_stock_swap(&groups->stock, offset, STOCK(group->id, nr),
			       &old))
		return false;
	uncharge_word(groups, old);
	return true;
}

void stock_leave(struct group *group, uint32_t nr)
{
	if (unwanted(group) || !leave(group, nr)) {
		if (nr)
			uncharge_exact(group, nr);
		return;
	}
	STEP("stock: left");
	/* pairs with the membarrier of who drains [O2] */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unlikely(unwanted(group)))
		stock_forget(group->groups);
}

/* Taking back */

static uint64_t *word_of(struct quire_groups *groups, unsigned int cpu,
			 uint32_t key)
{
	return slot_stock(
		percpu_slot(&groups->stock, cpu, groups->stock_offset), key);
}

/* A hint. */
static bool any_word(struct quire_groups *groups, bool with_pages)
{
	for (uint32_t cpu = 0; !CONFIG_UP && cpu < groups->stock.nr_cpus; cpu++)
		for (uint32_t i = 0; i < STOCK_WORDS; i++) {
			uint64_t word = load_relaxed(word_of(groups, cpu, i));

			if (with_pages ? STOCK_NUMBER(word) : !!word)
				return true;
		}
	return false;
}

/* Its lists are closed, and are open when this returns. */
static void drain_cpu_locked(struct quire_groups *groups, unsigned int cpu)
{
	uint64_t word[STOCK_WORDS];

	for (uint32_t i = 0; i < STOCK_WORDS; i++) {
		uint64_t *at = word_of(groups, cpu, i);

		word[i] = load_relaxed(at);
		store_relaxed(at, 0);
	}
	percpu_open(&groups->stock, cpu);
	for (uint32_t i = 0; i < STOCK_WORDS; i++)
		uncharge_word(groups, word[i]);
}

static bool drain(struct quire_groups *groups, bool with_pages)
{
	bool any;

	lock_take(&groups->drain_lock);
	/* pairs with the fence of who leaves one [O2] */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	any = any_word(groups, with_pages) && !percpu_close_all(&groups->stock);
	for (uint32_t cpu = 0; !CONFIG_UP && any && cpu < groups->stock.nr_cpus;
	     cpu++)
		drain_cpu_locked(groups, cpu);
	lock_release(&groups->drain_lock);
	if (any)
		groups_count(groups, GROUPS_STOCK_DRAINED);
	return any;
}

bool stock_drain(struct quire_groups *groups)
{
	return any_word(groups, true) && drain(groups, true);
}

void stock_forget(struct quire_groups *groups)
{
	drain(groups, false);
}

uint64_t stock_pages(struct group *group)
{
	struct quire_groups *groups = group->groups;
	uint64_t nr = 0;

	for (uint32_t cpu = 0; cpu < groups->stock.nr_cpus; cpu++)
		for (uint32_t i = 0; i < STOCK_WORDS; i++) {
			uint64_t word = load_relaxed(word_of(groups, cpu, i));

			if (STOCK_NUMBER(word) &&
			    group_below(group_of_id(groups, STOCK_KEY(word)),
					group))
				nr += STOCK_NUMBER(word);
		}
	return nr;
}
