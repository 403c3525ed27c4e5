/* SPDX-License-Identifier: MIT */
/*
 * See percpu.h: setting up, the modes that are not rseq, and closing.
 *
 * Where the lists are (a CPU's stride, a power of two):
 *
 *	lock │ list 0 │ list 1: header, ring │ list 2: header, ring │ …
 *	64 B │ 64 B   │ 64 B    4 B × 2^n    │			    │
 *
 * Memory is there once it is touched; init touches the headers only.
 *
 * [C5] A CPU's lock is only ever tried, except by percpu_close, so a handler or
 *	a thread that finds it taken by somebody who cannot run goes elsewhere.
 * [C6] Under the lock, too, an operation is committed by one store: a child
 *	that is forked in the middle of one finds a list that is whole.
 */
#include "percpu/percpu.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/cpu.h"
#include "os/os.h"

#define LINE 64u

_Static_assert(sizeof(struct percpu_lock) == LINE, "lists begin on a line");
_Static_assert(sizeof(struct slot) == LINE && offsetof(struct slot, limit) == 8,
	       "arch/rseq_x86_64.h counts on it");

#if PERCPU_HAVE_RSEQ
/* const after the first init, and the same each time */
ptrdiff_t percpu_rseq_offset;
#endif

/* What would be used if it were asked for now; 0 or why not. */
static int find_rseq(void)
{
#if PERCPU_HAVE_RSEQ
	int error = os->rseq_offset(&percpu_rseq_offset);

	return error ? error : os->restart_register();
#else
	return -ENOSYS;
#endif
}

static void choose_mode(struct percpu *percpu, enum percpu_mode want)
{
	if (CONFIG_UP)
		want = PERCPU_OFF;
	percpu->mode_fell_back = want == PERCPU_RSEQ && find_rseq();
	percpu->mode = percpu->mode_fell_back ? PERCPU_LOCK : want;
	if (percpu->mode != PERCPU_OFF)
		percpu->nr_cpus = cpu_end();
	if (percpu->mode == PERCPU_RSEQ)
		percpu->nr_rseq = percpu->nr_cpus;
}

/* Offsets of lists in a stride, and the stride. */
static int lay_out(struct percpu *percpu, const uint32_t *entries)
{
	uint64_t at = LINE;

	for (uint32_t i = 0; i < percpu->nr_lists; i++) {
		uint64_t ring = entries[i] * sizeof(uint32_t);

		ASSERT(i ? is_power_of_two(entries[i]) : !entries[i]);
		percpu->offset[i] = (uint32_t)at;
		at += LINE + ((ring + LINE - 1) & ~(uint64_t)(LINE - 1));
	}
	for (percpu->shift = PAGE_SHIFT; at >> percpu->shift; percpu->shift++)
		;
	percpu->bytes = (size_t)percpu->nr_cpus << percpu->shift;
	return at > UINT32_MAX ? -ENOMEM : 0;
}

static void open_first(struct percpu *percpu, const uint32_t *entries)
{
	for (uint32_t cpu = 0; cpu < percpu->nr_cpus; cpu++) {
		for (uint32_t i = 1; i < percpu->nr_lists; i++) {
			struct slot *slot =
				percpu_slot(percpu, cpu, percpu->offset[i]);

			slot->mask = entries[i] - 1;
			slot->open_limit = slot->limit = 1;
		}
	}
}

int percpu_init(struct percpu *percpu, unsigned int nr_lists,
		const uint32_t *entries, enum percpu_mode want)
{
	void *base;
	int error;

	ASSERT(nr_lists && nr_lists <= PERCPU_LISTS_MAX);
	*percpu = (struct percpu){ .nr_lists = nr_lists };
	choose_mode(percpu, want);
	error = lay_out(percpu, entries);
	if (error || !percpu->bytes)
		return error;
	error = os->map_backed(percpu->bytes, HUGE_SIZE, OS_LAZY, &base);
	if (error)
		return -ENOMEM;
	/* A huge page would be hundreds of CPUs that never run. */
	os->advise(base, percpu->bytes, OS_NO_HUGE);
	percpu->base = base;
	open_first(percpu, entries);
	return 0;
}

void percpu_destroy(struct percpu *percpu)
{
	if (percpu->base)
		os->unmap(percpu->base, percpu->bytes);
	*percpu = (struct percpu){ .mode = PERCPU_OFF };
}

/* Under a CPU's lock */

struct turn {
	struct percpu_lock *lock;
	bool masked;
	struct cpu_signals signals;
};

static struct percpu_lock *lock_of(const struct percpu *percpu,
				   unsigned int cpu)
{
	return (struct percpu_lock *)percpu_slot(percpu, cpu, 0);
}

/* As in os/lock.c: 0 free, 1 held, 2 held and somebody sleeps. */
static void lock_unlock(struct percpu_lock *lock)
{
	if (unlikely(exchange_release(&lock->word, 0) == 2))
		os->wake(&lock->word);
}

static struct slot *try_lock(struct percpu *percpu, uint32_t offset,
			     struct turn *turn)
{
	unsigned int cpu = (unsigned int)cpu_here();
	struct slot *slot;

	if (cpu >= percpu->nr_cpus)
		return NULL;
	turn->lock = lock_of(percpu, cpu);
	if (!cas_acquire(&turn->lock->word, 0, 1)) { /* pairs with unlock */
		add_relaxed(&percpu->nr_bypass, 1);
		return NULL;
	}
	slot = percpu_slot(percpu, cpu, offset);
	if (load_acquire(&slot->limit)) /* pairs with percpu_open */
		return slot;
	lock_unlock(turn->lock);
	return NULL;
}

/* The list of this CPU, for this thread alone until turn_end; or NULL. */
static struct slot *turn_begin(struct percpu *percpu, uint32_t offset,
			       struct turn *turn)
{
	struct slot *slot;

	turn->masked = percpu->mode == PERCPU_MASK;
	if (turn->masked)
		cpu_block_signals(&turn->signals);
	slot = try_lock(percpu, offset, turn);
	if (!slot && turn->masked)
		cpu_restore_signals(&turn->signals);
	return slot;
}

static void turn_end(struct turn *turn)
{
	lock_unlock(turn->lock);
	if (turn->masked)
		cpu_restore_signals(&turn->signals);
}

/* Ends are stored as atomics, since slot_count reads them from anywhere. */
static uint32_t copy_newest(struct slot *slot, uint32_t *out, uint32_t nr)
{
	uint32_t head = slot->ends.head;

	nr = (uint32_t)min_size(nr, slot_count(slot));
	for (uint32_t i = 0; i < nr; i++)
		out[i] = slot->ring[--head & slot->mask];
	store_release(&slot->ends.head, head); /* [C6] */
	return nr;
}

static uint32_t copy_oldest(struct slot *slot, uint32_t *out, uint32_t nr)
{
	uint32_t tail = slot->ends.tail;

	nr = (uint32_t)min_size(nr, slot_count(slot));
	for (uint32_t i = 0; i < nr; i++)
		out[i] = slot->ring[tail++ & slot->mask];
	store_release(&slot->ends.tail, tail); /* [C6] */
	return nr;
}

static uint32_t copy_in(struct slot *slot, const uint32_t *in, uint32_t nr)
{
	uint32_t head = slot->ends.head;
	uint32_t count = slot_count(slot);
	uint32_t limit = load_relaxed(&slot->limit);

	if (count >= limit)
		return 0;
	nr = (uint32_t)min_size(nr, limit - count);
	for (uint32_t i = 0; i < nr; i++)
		slot->ring[head++ & slot->mask] = in[i];
	store_release(&slot->ends.head, head); /* [C6] */
	return nr;
}

/* Whatever the mode */

static __attribute__((cold, noinline)) void gave_up(struct percpu *percpu)
{
	add_relaxed(&percpu->nr_aborted, 1);
}

/* The value of a sequence that is begun again as long as it is interrupted. */
#define TRY_AGAIN(percpu, sequence)                                            \
	__extension__({                                                        \
		int64_t again_value = SLOT_ABORTED;                            \
		int again = PERCPU_TRIES;                                      \
		while (again-- && again_value == SLOT_ABORTED)                 \
			again_value = (sequence);                              \
		if (unlikely(again_value == SLOT_ABORTED))                     \
			gave_up(percpu);                                       \
		again_value < 0 ? SLOT_NONE : again_value;                     \
	})

#define AT_LEAST_0(value) ((value) < 0 ? 0u : (uint32_t)(value))

int64_t percpu_pop(struct percpu *percpu, uint32_t offset)
{
	struct turn turn;
	struct slot *slot;
	uint32_t page, nr;

	if (percpu->nr_rseq)
		return TRY_AGAIN(percpu, slot_pop(percpu, offset));
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return SLOT_NONE;
	nr = copy_newest(slot, &page, 1);
	turn_end(&turn);
	return nr ? (int64_t)page : SLOT_NONE;
}

bool percpu_push(struct percpu *percpu, uint32_t offset, uint32_t page)
{
	struct turn turn;
	struct slot *slot;
	uint32_t nr;

	if (percpu->nr_rseq)
		return TRY_AGAIN(percpu, slot_push_once(percpu, offset, page)) >
		       0;
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return false;
	nr = copy_in(slot, &page, 1);
	turn_end(&turn);
	return nr;
}

uint32_t percpu_pop_batch(struct percpu *percpu, uint32_t offset, uint32_t *out,
			  uint32_t nr)
{
	struct turn turn;
	struct slot *slot;
	int64_t got;

	if (percpu->nr_rseq) {
		got = TRY_AGAIN(percpu,
				slot_pop_batch(percpu, offset, out, nr));
		return AT_LEAST_0(got);
	}
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = copy_newest(slot, out, nr);
	turn_end(&turn);
	return nr;
}

uint32_t percpu_pop_oldest(struct percpu *percpu, uint32_t offset,
			   uint32_t *out, uint32_t nr)
{
	struct turn turn;
	struct slot *slot;
	int64_t got;

	if (percpu->nr_rseq) {
		got = TRY_AGAIN(percpu,
				slot_pop_oldest(percpu, offset, out, nr));
		return AT_LEAST_0(got);
	}
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = copy_oldest(slot, out, nr);
	turn_end(&turn);
	return nr;
}

uint32_t percpu_push_batch(struct percpu *percpu, uint32_t offset,
			   const uint32_t *in, uint32_t nr)
{
	struct turn turn;
	struct slot *slot;
	int64_t got;

	if (percpu->nr_rseq) {
		got = TRY_AGAIN(percpu,
				slot_push_batch(percpu, offset, in, nr));
		return AT_LEAST_0(got);
	}
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = copy_in(slot, in, nr);
	turn_end(&turn);
	return nr;
}

struct slot *percpu_here(struct percpu *percpu, uint32_t offset)
{
	unsigned int cpu = (unsigned int)cpu_here();

	return cpu < percpu->nr_cpus ? percpu_slot(percpu, cpu, offset) : NULL;
}

/* Limits and closing */

void percpu_set_limit(struct slot *slot, uint32_t limit)
{
	uint32_t old = load_relaxed(&slot->limit);

	ASSERT(limit && limit <= slot->mask + 1);
	store_relaxed(&slot->open_limit, limit);
	while (old && !cas_acquire(&slot->limit, old, limit)) /* [C3] */
		old = load_relaxed(&slot->limit);
}

static void close_lists(struct percpu *percpu, unsigned int cpu)
{
	for (uint32_t i = 1; i < percpu->nr_lists; i++)
		store_relaxed(
			&percpu_slot(percpu, cpu, percpu->offset[i])->limit, 0);
	if (cpu != (unsigned int)cpu_here())
		add_relaxed(&percpu->nr_remote, percpu->nr_lists - 1);
}

/* Not bounded by anything but the holder's next turn to run: a few stores. */
static void take_lock(struct percpu_lock *lock)
{
	if (cas_acquire(&lock->word, 0, 1)) /* pairs with lock_unlock */
		return;
	while (exchange_acquire(&lock->word, 2))
		os->wait(&lock->word, 2, UINT64_MAX);
}

static void close_under_lock(struct percpu *percpu, unsigned int cpu)
{
	struct percpu_lock *lock = lock_of(percpu, cpu);

	take_lock(lock);
	close_lists(percpu, cpu);
	lock_unlock(lock);
}

int percpu_close(struct percpu *percpu, unsigned int cpu)
{
	ASSERT(cpu < percpu->nr_cpus);
	if (!percpu->nr_rseq) {
		close_under_lock(percpu, cpu);
		return 0;
	}
	close_lists(percpu, cpu);
	if (!os->restart_others((int)cpu))
		return 0;
	percpu_open(percpu, cpu);
	return -EAGAIN;
}

int percpu_close_all(struct percpu *percpu)
{
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++) {
		if (percpu->nr_rseq)
			close_lists(percpu, cpu);
		else
			close_under_lock(percpu, cpu);
	}
	if (!percpu->nr_rseq || !os->restart_others(-1))
		return 0;
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++)
		percpu_open(percpu, cpu);
	return -EAGAIN;
}

uint32_t slot_take_closed(struct slot *slot, uint32_t *out, uint32_t nr)
{
	ASSERT(!load_relaxed(&slot->limit));
	return copy_oldest(slot, out, nr);
}

void percpu_open(struct percpu *percpu, unsigned int cpu)
{
	for (uint32_t i = 1; i < percpu->nr_lists; i++) {
		struct slot *slot = percpu_slot(percpu, cpu, percpu->offset[i]);

		/* pairs with try_lock, and with the section's look at it */
		store_release(&slot->limit, load_relaxed(&slot->open_limit));
	}
}

/*
 * The kernel takes the registration for restart_others over from the parent,
 * but says so nowhere; asking again is cheap while there is one thread.
 */
void percpu_fork_child(struct percpu *percpu)
{
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++)
		lock_of(percpu, cpu)->word = 0;
	if (!percpu->nr_rseq || !os->restart_register())
		return;
	percpu->nr_rseq = 0;
	percpu->mode = PERCPU_LOCK;
	percpu->mode_fell_back = true;
}

void percpu_check(const struct percpu *percpu)
{
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++) {
		for (uint32_t i = 0; i < percpu->nr_lists; i++) {
			const struct slot *slot =
				percpu_slot(percpu, cpu, percpu->offset[i]);
			uint32_t room = i ? slot->mask + 1 : 0;

			ASSERT(slot_count(slot) <= room); /* [C2] */
			ASSERT(load_relaxed(&slot->limit) <= room);
			ASSERT(load_relaxed(&slot->open_limit) <= room);
		}
	}
}
