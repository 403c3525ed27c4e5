/* SPDX-License-Identifier: MIT */
/* The helper thread and the looks of the program's own threads. */
#include "region/keeper.h"

#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/bound.h"
#include "region/leave.h"

#define RETRY_THREAD_MS 1000
#define LARGE_PAGES	((size_t)1 << (20 - 12))

void keeper_open(struct store *store)
{
	lock_init(&store->keeper_lock, RANK_KEEPER);
}

/* One round; returns how long the next may wait, UINT64_MAX: nothing kept. */
static uint64_t look(struct store *store, uint64_t now_ms)
{
	uint64_t wait_ms = leave_decayed(store, now_ms);
	size_t kept = store_kept_pages(store);

	if (!kept)
		return UINT64_MAX;
	/* Barred for good: perhaps a sandbox, where opening a file kills. */
	if (kept >= LIMIT_WORTH_PAGES && !load_relaxed(&store->keeper_barred))
		bound_apply(store);
	uint64_t pace_ms = load_relaxed(&store->look_ms);
	return wait_ms < pace_ms ? wait_ms : pace_ms;
}

/* The helper thread */

/*
 * Says that it will sleep without a limit, and then makes sure that nothing
 * was kept meanwhile.  Pairs with the fence in poke_if_idle: either we see the
 * memory that was kept, or its keeper sees us idle and wakes us.
 */
static bool may_sleep_for_ever(struct store *store)
{
	store_relaxed(&store->keeper_idle, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	STEP("keeper: idle is set");
	return store_kept_pages(store) == 0 &&
	       !load_relaxed(&store->behind_pages);
}

static void keeper_main(void *arg)
{
	struct store *store = arg;

	for (;;) {
		/* pairs with the release in keeper_ring */
		uint32_t word = load_acquire(&store->keeper_word);

		if (load_relaxed(&store->keeper_stop))
			return;
		leave_queued(store);
		uint64_t wait_ms = look(store, os->now_ms());

		if (wait_ms == UINT64_MAX && !may_sleep_for_ever(store))
			wait_ms = LOOK_EVERY_MS;
		os->wait(&store->keeper_word, word, wait_ms);
		store_relaxed(&store->keeper_idle, 0);
	}
}

void keeper_ring(struct store *store)
{
	__atomic_fetch_add(&store->keeper_word, 1, __ATOMIC_RELEASE);
	os->wake(&store->keeper_word);
}

static void start_locked(struct store *store, uint64_t now_ms)
{
	if (load_relaxed(&store->keeper_runs) ||
	    load_relaxed(&store->keeper_barred) ||
	    now_ms < store->keeper_retry_ms)
		return;
	if (os->thread_start("quire/keeper", keeper_main, store,
			     &store->keeper)) {
		store_count(store, QUIRE_COUNTER_thread_refused, 1);
		store->keeper_retry_ms = now_ms + RETRY_THREAD_MS;
		return;
	}
	store_count(store, QUIRE_COUNTER_thread_started, 1);
	store_relaxed(&store->keeper_runs, 1);
}

/*
 * Starting allocates, so this can come back to us on the same thread: then the
 * try fails, as it does when another thread is starting it.
 */
static void start(struct store *store, uint64_t now_ms)
{
	if (CONFIG_UP || !lock_try(&store->keeper_lock))
		return;
	start_locked(store, now_ms);
	lock_release(&store->keeper_lock);
}

static void poke_if_idle(struct store *store)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* see may_sleep_for_ever */
	if (load_relaxed(&store->keeper_idle))
		keeper_ring(store);
}

/* The program's own threads */

static void look_if_due(struct store *store, uint64_t now_ms)
{
	uint64_t due = load_relaxed(&store->next_look_ms);

	if (now_ms < due || load_relaxed(&store->keeper_runs))
		return;
	if (cas_acquire(&store->next_look_ms, due,
			now_ms + load_relaxed(&store->look_ms)))
		look(store, now_ms);
}

/*
 * Is more than @pages kept?  Adding up touches a line of every shard, so it is
 * done only where this shard alone holds its part of the bound, or where a
 * large block was freed.  Small ones can go past a bound unseen, but only while
 * each shard that frees them holds less than its part.
 */
static bool keeps_more(struct store *store, const struct shard *shard,
		       size_t freed_pages, size_t pages)
{
	size_t mine = load_relaxed(&shard->kept_pages) * store->nr_shards;

	if (mine <= pages && freed_pages < LARGE_PAGES)
		return false;
	return store_kept_pages(store) > pages;
}

void keeper_after_keep(struct store *store, struct shard *shard,
		       size_t nr_pages, uint64_t now_ms)
{
	size_t thread_pages, cap;

	look_if_due(store, now_ms); /* may set both bounds */
	thread_pages = load_relaxed(&store->helper_pages);
	cap = load_relaxed(&store->cap_pages);
	if (cap && keeps_more(store, shard, nr_pages, cap))
		leave_down_to(store, cap, QUIRE_COUNTER_bytes_capped);
	/* However little it is: nobody else looks while the thread runs. */
	if (load_relaxed(&store->keeper_runs))
		poke_if_idle(store);
	else if (keeps_more(store, shard, nr_pages,
			    thread_pages ? thread_pages - 1 : 0))
		start(store, now_ms);
}

void keeper_bar(struct store *store)
{
	add_relaxed(&store->keeper_barred, 1);
	lock_take(&store->keeper_lock);
	if (load_relaxed(&store->keeper_runs)) {
		store_relaxed(&store->keeper_stop, 1);
		keeper_ring(store);
		os->thread_join(&store->keeper);
		store_relaxed(&store->keeper_stop, 0);
		store_relaxed(&store->keeper_runs, 0);
		store_relaxed(&store->keeper_idle, 0);
	}
	lock_release(&store->keeper_lock);
	leave_queued(store); /* after it said that it does not run */
}

void keeper_unbar(struct store *store)
{
	add_relaxed(&store->keeper_barred, (uint32_t)-1);
}
