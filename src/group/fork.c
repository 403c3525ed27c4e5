/* SPDX-License-Identifier: MIT */
/*
 * fork with groups.
 *
 * prepare takes all locks of all instances, in their order: registry, threads,
 * drain, tree, lists.  So the child finds every list whole, and no stock or
 * batch closed.  A section of another thread that was filling a stock or a batch
 * had either committed or not.
 *
 * In the child nobody waits and there is no thread in the background.  What
 * other threads had in hand there (isolated pages, a charge on its way) belongs
 * to nobody, and stays charged.
 *
 * A thread that forks while it holds one of these locks was interrupted by a
 * handler; nothing is taken then, and the child may only exec.
 */
#include "base/assert.h"
#include "group/group.h"

static __thread unsigned int interrupting
	__attribute__((tls_model("initial-exec")));

static struct quire_groups *groups_of(struct list *item)
{
	return container_of(item, struct quire_groups, link);
}

/* The locks of lists, in the order of their addresses; returns how many. */
static size_t list_locks(struct quire_groups *groups, struct lock **out)
{
	size_t nr = 0;

	if (groups->lru_lock == QUIRE_LRU_LOCK_NODE) {
		for (uint32_t i = 0; i < groups->nr_nodes; i++)
			out[nr++] = &groups->node[i].lock;
		return nr;
	}
	for (uint32_t id = GROUP_ROOT; id < groups->nr_used; id++)
		for (uint32_t i = 0; i < groups->nr_nodes; i++)
			out[nr++] = &group_of_id(groups, id)->vec[i].own;
	return nr;
}

/* Rank by rank, so that the order is that of the enum with several instances. */
enum stage { STAGE_THREAD, STAGE_DRAIN, STAGE_TREE, STAGE_LISTS, NR_STAGES };

static size_t locks_of(struct quire_groups *groups, enum stage stage,
		       struct lock **one, struct lock ***out)
{
	*out = one;
	switch (stage) {
	case STAGE_THREAD:
		*one = &groups->thread_lock;
		return 1;
	case STAGE_DRAIN:
		*one = &groups->drain_lock;
		return 1;
	case STAGE_TREE:
		*one = &groups->tree_lock;
		return 1;
	default:
		*out = groups->all_locks;
		return list_locks(groups, *out);
	}
}

static void take_all(struct quire_groups *groups, enum stage stage)
{
	struct lock *one, **locks;
	size_t nr = locks_of(groups, stage, &one, &locks);

	lock_take_more(locks, nr);
}

static void release_all(struct quire_groups *groups, enum stage stage)
{
	struct lock *one, **locks;
	size_t nr = locks_of(groups, stage, &one, &locks);

	lock_release_many(locks, nr);
}

static void reset_all(struct quire_groups *groups, enum stage stage)
{
	struct lock *one, **locks;
	size_t nr = locks_of(groups, stage, &one, &locks);

	while (nr--)
		lock_reset_in_child(locks[nr]);
}

static void each(void (*what)(struct quire_groups *, enum stage), bool back)
{
	for (unsigned int i = 0; i < NR_STAGES; i++)
		list_for_each (item, groups_all())
			what(groups_of(item),
			     (enum stage)(back ? NR_STAGES - 1 - i : i));
}

static void prepare(void)
{
	if (interrupting || lock_holds_from(RANK_GROUPS)) {
		interrupting++;
		return;
	}
	lock_take(groups_lock());
	each(take_all, false);
}

static void in_parent(void)
{
	if (interrupting) {
		interrupting--;
		return;
	}
	each(release_all, true);
	lock_release(groups_lock());
}

static void go_on(struct quire_groups *groups)
{
	percpu_fork_child(&groups->stock);
	groups->nr_waiters = 0;
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct node *node = &groups->node[i];

		percpu_fork_child(&node->batches);
		node->has_thread = false;
		node->wanted = node->stop = 0;
	}
}

static void in_child(void)
{
	if (interrupting) {
		interrupting--;
		return;
	}
	each(reset_all, true);
	lock_reset_in_child(groups_lock());
	list_for_each (item, groups_all())
		go_on(groups_of(item));
}

static int start_error;

/* After zones (page/zone_fork.c): registered last, prepared first. */
__attribute__((constructor(1003))) static void watch_forks(void)
{
	start_error = os->at_fork(prepare, in_parent, in_child);
}

int groups_at_fork(void)
{
	return start_error;
}
