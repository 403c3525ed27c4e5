/* SPDX-License-Identifier: MIT */
/*
 * fork with a store.
 *
 * Prepare takes every lock in rank order, so that the child finds no structure
 * half changed and no memory half given back.  The child has no helper thread;
 * it starts its own when it needs one.  A block that another thread of the
 * parent was just being handed stays mapped in the child and belongs to
 * nobody: at most one block for each lost thread.
 */
#include "base/assert.h"
#include "os/os.h"
#include "region/leave.h"
#include "region/store.h"

static size_t shard_locks(struct store *store, struct lock *locks[MAX_SHARDS])
{
	for (unsigned int i = 0; i < store->nr_shards; i++)
		locks[i] = &store->shards[i].lock;
	return store->nr_shards;
}

void store_fork_prepare(struct store *store)
{
	struct lock *locks[MAX_SHARDS];
	size_t nr = shard_locks(store, locks);

	lock_take(&store->keeper_lock);
	lock_take(&store->leave_lock);
	lock_take(&store->queue_lock);
	lock_take_many(locks, nr);
	lock_take(&store->common.pool.lock);
}

void store_fork_parent(struct store *store)
{
	struct lock *locks[MAX_SHARDS];
	size_t nr = shard_locks(store, locks);

	lock_release(&store->common.pool.lock);
	lock_release_many(locks, nr);
	lock_release(&store->queue_lock);
	lock_release(&store->leave_lock);
	lock_release(&store->keeper_lock);
}

void store_fork_child_interrupted(struct store *store)
{
	store->keeper_runs = 0;
	store->keeper_idle = 0;
	store->keeper_stop = 0;
	store->keeper_barred = 0;
}

bool store_fork_child(struct store *store)
{
	lock_reset_in_child(&store->common.pool.lock);
	for (unsigned int i = 0; i < store->nr_shards; i++)
		lock_reset_in_child(&store->shards[i].lock);
	lock_reset_in_child(&store->queue_lock);
	lock_reset_in_child(&store->leave_lock);
	lock_reset_in_child(&store->keeper_lock);
	store_fork_child_interrupted(store);
	leave_half_way_in_child(store);
	if (store_kept_pages(store) || store->behind_pages) {
		store->inherited = 1;
		store_count(store, QUIRE_COUNTER_fork_child, 1);
	}
	return store->inherited;
}
