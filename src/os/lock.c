/* SPDX-License-Identifier: MIT */
/*
 * The lock word: 0 free, 1 held, 2 held and somebody sleeps (or is about to).
 * Taking a free lock is one compare-and-swap, releasing an uncontended one is
 * one exchange; neither enters the kernel.
 *
 * In the build for one CPU without threads the word stays, as a real flag
 * that try can find taken (a handler, a callback), but nothing is atomic and
 * nobody ever waits.
 */
#include "os/lock.h"

#include "base/arch/cpu.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"

/* [K1] about as long as a shard operation takes, a few hundred cycles */
#define SPINS 40

/* Ranks that this thread holds, one bit each.  Own thread only. */
static __thread uint32_t held_ranks __attribute__((tls_model("initial-exec")));

void lock_init(struct lock *lock, enum lock_rank rank)
{
	*lock = (struct lock){ .rank = rank };
}

/*
 * Noted before the word is taken and until it is free again, so that a signal
 * handler that finds no rank noted has not interrupted a holder.
 */
static void note_rank(const struct lock *lock)
{
	held_ranks |= 1u << lock->rank;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void forget_rank(const struct lock *lock)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	held_ranks &= ~(1u << lock->rank);
}

static void check_order(const struct lock *lock)
{
	ASSERT(!(held_ranks >> lock->rank));
}

/* [K2] the lock is ours here; others read at any time */
static void count_take(struct lock *lock, bool waited)
{
	uint64_t takes = lock->takes;

	if (waited)
		store_relaxed(&lock->contended, lock->contended + 1);
	store_relaxed(&lock->takes, takes + 1);
	if (unlikely(takes % LOCK_SAMPLE == 0))
		lock->taken_at = cpu_cycles();
}

static void count_release(struct lock *lock)
{
	if (unlikely(lock->taken_at)) {
		store_relaxed(&lock->hold_cycles, lock->hold_cycles +
							  cpu_cycles() -
							  lock->taken_at);
		lock->taken_at = 0;
	}
}

static bool word_try(uint32_t *word)
{
	if (CONFIG_UP) {
		if (*word)
			return false;
		*word = 1;
		return true;
	}
	return cas_acquire(word, 0, 1); /* pairs with word_release */
}

static __attribute__((noinline, cold)) void word_wait(uint32_t *word)
{
	ASSERT(!CONFIG_UP);
	for (int i = 0; i < SPINS; i++) {
		cpu_pause();
		if (load_relaxed(word) == 0 && word_try(word))
			return;
	}
	/* From here on the word says 2, so whoever releases it wakes us. */
	while (exchange_acquire(word, 2) != 0)
		os->wait(word, 2, UINT64_MAX);
}

static void word_release(uint32_t *word)
{
	if (CONFIG_UP) {
		*word = 0;
		return;
	}
	if (unlikely(exchange_release(word, 0) == 2))
		os->wake(word);
}

static void take_unordered(struct lock *lock)
{
	bool waited = !word_try(&lock->word);

	if (unlikely(waited))
		word_wait(&lock->word);
	count_take(lock, waited);
}

void lock_take(struct lock *lock)
{
	check_order(lock);
	note_rank(lock);
	take_unordered(lock);
}

bool lock_try(struct lock *lock)
{
	/*
	 * A try cannot deadlock, so it may be out of order; a second lock of a
	 * rank already held would make the rank bits lie, so it fails.
	 */
	if (held_ranks & (1u << lock->rank))
		return false;
	note_rank(lock);
	if (!word_try(&lock->word)) {
		forget_rank(lock);
		return false;
	}
	count_take(lock, false);
	return true;
}

void lock_release(struct lock *lock)
{
	count_release(lock);
	word_release(&lock->word);
	forget_rank(lock);
}

bool lock_held(const struct lock *lock)
{
	return load_relaxed(&lock->word) != 0;
}

bool lock_holds_any(void)
{
	return held_ranks != 0;
}

bool lock_holds_from(enum lock_rank rank)
{
	return held_ranks >> rank != 0;
}

void lock_take_many(struct lock *const *locks, size_t nr)
{
	if (!nr)
		return;
	check_order(locks[0]);
	note_rank(locks[0]);
	for (size_t i = 0; i < nr; i++) {
		ASSERT(i == 0 || (locks[i - 1]->rank == locks[i]->rank &&
				  locks[i - 1] < locks[i]));
		take_unordered(locks[i]);
	}
}

void lock_take_more(struct lock *const *locks, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		ASSERT(held_ranks >> locks[i]->rank <= 1);
		note_rank(locks[i]);
		take_unordered(locks[i]);
	}
}

void lock_release_many(struct lock *const *locks, size_t nr)
{
	if (!nr)
		return;
	for (size_t i = nr; i--;) {
		count_release(locks[i]);
		word_release(&locks[i]->word);
	}
	forget_rank(locks[0]);
}

void lock_reset_in_child(struct lock *lock)
{
	held_ranks &= ~(1u << lock->rank);
	lock->taken_at = 0;
	lock->word = 0;
}
