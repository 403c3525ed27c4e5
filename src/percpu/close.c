/* SPDX-License-Identifier: MIT */
/*
 * Limits, and closing the lists of a CPU from afar.
 *
 *	open ── shut ── membarrier ── closed ── reopen ── open
 *		 │	    │ sections that saw it open: aborted, or over
 *		 └──────────┘ once more if one of them stored the window
 *
 * Two words say that a list is closed [C3].  Pop and push look at the window
 * only, and never store it.  The few operations that do store it (draining
 * the oldest, moving down) may have read it just before it was shut, so they
 * can undo that; they look at limit first, so each of them can at most once.
 *
 * In lock mode the lock keeps everybody out while both words are stored.
 */
#include "percpu/percpu.h"

#include <errno.h>

#include "base/assert.h"
#include "os/cpu.h"
#include "os/os.h"
#include "percpu/array.h"

/*
 * A drain that was under way on the list's own CPU may store a top that it had
 * computed before; that stands until the next drain, and is within the array.
 */
void percpu_set_limit(struct slot *slot, uint32_t limit)
{
	uint32_t old = load_relaxed(&slot->limit);
	uint32_t window, tail;

	ASSERT(limit && limit <= slot_room(slot));
	store_relaxed(&slot->open_limit, limit);
	while (old && !cas_acquire(&slot->limit, old, limit)) /* [C3] */
		old = load_relaxed(&slot->limit);
	do {
		window = load_relaxed(&slot->ends.window);
		tail = SLOT_TAIL(window);
	} while (!(window & SLOT_CLOSED) &&
		 !cas_acquire(&slot->ends.window, window,
			      SLOT_WINDOW(tail, top_of(slot, tail, limit))));
}

static void shut(struct slot *slot)
{
	uint32_t window;

	store_relaxed(&slot->limit, 0);
	do
		window = load_relaxed(&slot->ends.window);
	while (!cas_acquire(&slot->ends.window, window,
			    SLOT_WINDOW(SLOT_TAIL(window) | SLOT_CLOSED, 0)));
}

static void shut_all(struct percpu *percpu, unsigned int cpu)
{
	for (uint32_t i = 1; i < percpu->nr_lists; i++)
		shut(slot_nr(percpu, cpu, i));
}

static bool all_are_shut(const struct percpu *percpu, unsigned int cpu)
{
	uint32_t all = SLOT_CLOSED;

	for (uint32_t i = 1; i < percpu->nr_lists; i++)
		all &= load_relaxed(&slot_nr(percpu, cpu, i)->ends.window);
	return all;
}

/* Waits for nothing but the holder's next turn to run: a few stores. */
static void shut_under_lock(struct percpu *percpu, unsigned int cpu)
{
	struct percpu_lock *lock = lock_of(percpu, cpu);

	if (!cas_acquire(&lock->word, 0, 1)) /* pairs with cpu_unlock */
		while (exchange_acquire(&lock->word, 2))
			os->wait(&lock->word, 2, UINT64_MAX);
	shut_all(percpu, cpu);
	cpu_unlock(lock);
}

/* The CPUs from @cpu on, @nr of them: one, or all.  True: a membarrier has to
 * follow, and then a look whether they have stayed shut. */
static bool shut_cpus(struct percpu *percpu, unsigned int cpu, unsigned int nr)
{
	bool any = false;

	for (; nr--; cpu++) {
		if (!percpu->rseq_end) {
			shut_under_lock(percpu, cpu);
		} else if (!all_are_shut(percpu, cpu)) {
			shut_all(percpu, cpu);
			any = true;
		}
	}
	return any;
}

static int close_cpus(struct percpu *percpu, unsigned int cpu, unsigned int nr)
{
	int which = nr == 1 ? (int)cpu : -1;

	while (shut_cpus(percpu, cpu, nr)) {
		if (!os->restart_others(which))
			continue;
		while (nr--)
			percpu_open(percpu, cpu++);
		return -EAGAIN;
	}
	return 0;
}

int percpu_close(struct percpu *percpu, unsigned int cpu)
{
	ASSERT(cpu < percpu->nr_cpus);
	if (cpu != (unsigned int)cpu_here())
		add_relaxed(&percpu->nr_remote, percpu->nr_lists - 1);
	return close_cpus(percpu, cpu, 1);
}

int percpu_close_all(struct percpu *percpu)
{
	if (percpu->nr_cpus)
		add_relaxed(&percpu->nr_remote,
			    (percpu->nr_cpus - 1) * (percpu->nr_lists - 1));
	return close_cpus(percpu, 0, percpu->nr_cpus);
}

uint32_t slot_take_closed(struct slot *slot, uint32_t *out, uint32_t nr)
{
	uint32_t tail;

	ASSERT(!load_relaxed(&slot->limit));
	tail = SLOT_TAIL(load_relaxed(&slot->ends.window));
	nr = copy_oldest(slot, tail, out, nr);
	store_release(&slot->ends.window,
		      SLOT_WINDOW((tail + nr) | SLOT_CLOSED, 0));
	return nr;
}

/*
 * The window before the limit: one that a section stores after it has seen the
 * limit is then right.  After a membarrier that failed a section may have
 * stored an open one already, or may do so now; both are right, too.
 */
static void reopen(struct slot *slot)
{
	uint32_t limit = load_relaxed(&slot->open_limit);
	uint32_t window = load_relaxed(&slot->ends.window);
	uint32_t tail = SLOT_TAIL(window);

	if (window & SLOT_CLOSED)
		cas_acquire(&slot->ends.window, window,
			    SLOT_WINDOW(tail, top_of(slot, tail, limit)));
	/* pairs with the look that an operation takes at it, in all modes */
	store_release(&slot->limit, limit);
}

void percpu_open(struct percpu *percpu, unsigned int cpu)
{
	for (uint32_t i = 1; i < percpu->nr_lists; i++)
		reopen(slot_nr(percpu, cpu, i));
}
