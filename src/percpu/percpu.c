/* SPDX-License-Identifier: MIT */
/*
 * See percpu.h: setting up, and the operations whatever the mode is.
 *
 * Where the lists of a CPU are:
 *
 *	lock │ list 0 │ list 1: header, array │ list 2: header, array │ …
 *	64 B │ 64 B   │ 64 B    8 B × room    │			      │
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
#include "os/cpu.h"
#include "os/os.h"
#include "percpu/array.h"

#define LINE 64u

_Static_assert(sizeof(struct percpu_lock) == LINE, "lists begin on a line");
/* arch/rseq_x86_64.h counts on it */
_Static_assert(offsetof(struct slot, ends.window) == 0 &&
		       offsetof(struct slot, ends.head) == 4 &&
		       offsetof(struct slot, limit) == 8 &&
		       offsetof(struct slot, size) == 12 &&
		       offsetof(struct slot, page) == LINE,
	       "struct slot");
_Static_assert(2 * PERCPU_ENTRIES_MAX < SLOT_CLOSED, "tail is below the bit");

#if PERCPU_HAVE_RSEQ

ptrdiff_t percpu_rseq_offset;

/*
 * Where no area can be found a section must still have one to store into: what
 * stands in front of it is run before it is known that the mode is not rseq.
 * The kernel knows nothing of this one.
 */
static __thread struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
} no_area __attribute__((tls_model("initial-exec"), aligned(16))) = {
	.cpu_id = UINT32_MAX,
};

static int find_area(void)
{
	ptrdiff_t offset;
	int error = os->rseq_offset(&offset);

	if (!error)
		percpu_rseq_offset = offset;
	else if (!percpu_rseq_offset)
		percpu_rseq_offset = rseq_offset_of(&no_area);
	return error;
}

#else

static int find_area(void)
{
	return -ENOSYS;
}

#endif

/* -1 and -2, as ids of CPUs, must stay above rseq_end. */
#define RSEQ_CPUS_MAX ((1u << (32 - PERCPU_SHIFT)) - 2)

static bool rseq_works(unsigned int nr_cpus)
{
	return !find_area() && nr_cpus <= RSEQ_CPUS_MAX &&
	       !os->restart_register();
}

static void choose_mode(struct percpu *percpu, enum percpu_mode want)
{
	unsigned int nr_cpus = CONFIG_UP ? 0 : cpu_end();
	bool works = rseq_works(nr_cpus);

	percpu->mode = CONFIG_UP ? PERCPU_OFF : want;
	if (percpu->mode == PERCPU_RSEQ && !works) {
		percpu->mode = PERCPU_LOCK;
		percpu->mode_fell_back = true;
	}
	if (percpu->mode != PERCPU_OFF)
		percpu->nr_cpus = nr_cpus;
	if (percpu->mode == PERCPU_RSEQ)
		percpu->rseq_end = nr_cpus << PERCPU_SHIFT;
}

/* Where each list is in a stride. */
static void lay_out(struct percpu *percpu, const uint32_t *entries)
{
	size_t at = LINE, bytes;

	for (uint32_t i = 0; i < percpu->nr_lists; i++) {
		ASSERT(entries[i] <= PERCPU_ENTRIES_MAX && !entries[i] == !i);
		bytes = LINE + 2 * entries[i] * sizeof(uint32_t);
		percpu->offset[i] = (uint32_t)at;
		at += (bytes + LINE - 1) & ~(size_t)(LINE - 1);
		ASSERT(at <= PERCPU_STRIDE);
	}
	percpu->bytes = percpu->nr_cpus * at;
}

static size_t mapped_bytes(const struct percpu *percpu)
{
	return (size_t)percpu->nr_cpus << PERCPU_SHIFT;
}

static void open_first(struct percpu *percpu, const uint32_t *entries)
{
	for (uint32_t cpu = 0; cpu < percpu->nr_cpus; cpu++) {
		for (uint32_t i = 1; i < percpu->nr_lists; i++) {
			struct slot *slot =
				percpu_slot(percpu, cpu, percpu->offset[i]);

			slot->size = 2 * entries[i];
			slot->open_limit = slot->limit = 1;
			slot->ends.window = SLOT_WINDOW(0, 1);
		}
	}
}

int percpu_init(struct percpu *percpu, unsigned int nr_lists,
		const uint32_t *entries, enum percpu_mode want)
{
	void *base;

	ASSERT(nr_lists && nr_lists <= PERCPU_LISTS_MAX);
	*percpu = (struct percpu){ .nr_lists = nr_lists };
	choose_mode(percpu, want);
	lay_out(percpu, entries);
	if (!percpu->nr_cpus)
		return 0;
	if (os->map_backed(mapped_bytes(percpu), PAGE_SIZE, OS_LAZY, &base))
		return -ENOMEM;
	/* One huge page would be four CPUs that perhaps never run. */
	os->advise(base, mapped_bytes(percpu), OS_NO_HUGE);
	percpu->base = base;
	open_first(percpu, entries);
	return 0;
}

void percpu_destroy(struct percpu *percpu)
{
	if (percpu->base)
		os->unmap(percpu->base, mapped_bytes(percpu));
	*percpu = (struct percpu){ .mode = PERCPU_OFF };
}

/* Under a CPU's lock */

struct turn {
	struct percpu_lock *lock;
	bool masked;
	struct cpu_signals signals;
};

static struct slot *try_lock(struct percpu *percpu, uint32_t offset,
			     struct turn *turn)
{
	unsigned int cpu = (unsigned int)cpu_here();
	struct slot *slot;

	if (cpu >= percpu->nr_cpus)
		return NULL;
	turn->lock = lock_of(percpu, cpu);
	if (!cas_acquire(&turn->lock->word, 0, 1)) { /* pairs with cpu_unlock */
		add_relaxed(&percpu->nr_bypass, 1);
		return NULL;
	}
	slot = percpu_slot(percpu, cpu, offset);
	if (load_acquire(&slot->limit)) /* pairs with percpu_open */
		return slot;
	cpu_unlock(turn->lock);
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
	cpu_unlock(turn->lock);
	if (turn->masked)
		cpu_restore_signals(&turn->signals);
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

static uint32_t at_least_0(int64_t value)
{
	return value < 0 ? 0 : (uint32_t)value;
}

int64_t percpu_pop(struct percpu *percpu, uint32_t offset)
{
	struct turn turn;
	struct slot *slot;
	uint32_t page, nr;

	if (percpu->rseq_end)
		return TRY_AGAIN(percpu, slot_pop(percpu, offset));
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return SLOT_NONE;
	nr = array_take_newest(slot, &page, 1);
	turn_end(&turn);
	return nr ? (int64_t)page : SLOT_NONE;
}

bool percpu_push(struct percpu *percpu, uint32_t offset, uint32_t page)
{
	return percpu_push_batch(percpu, offset, &page, 1);
}

uint32_t percpu_pop_batch(struct percpu *percpu, uint32_t offset, uint32_t *out,
			  uint32_t nr)
{
	struct turn turn;
	struct slot *slot;

	if (percpu->rseq_end)
		return at_least_0(TRY_AGAIN(
			percpu, slot_pop_batch(percpu, offset, out, nr)));
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = array_take_newest(slot, out, nr);
	turn_end(&turn);
	return nr;
}

uint32_t percpu_pop_oldest(struct percpu *percpu, uint32_t offset,
			   uint32_t *out, uint32_t nr)
{
	struct turn turn;
	struct slot *slot;

	if (percpu->rseq_end)
		return at_least_0(TRY_AGAIN(
			percpu, slot_pop_oldest(percpu, offset, out, nr)));
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = array_take_oldest(slot, out, nr);
	turn_end(&turn);
	return nr;
}

static uint32_t push_by_section(struct percpu *percpu, uint32_t offset,
				const uint32_t *in, uint32_t nr)
{
	uint32_t done;

	done = at_least_0(
		TRY_AGAIN(percpu, slot_push_batch(percpu, offset, in, nr)));
	if (done == nr || TRY_AGAIN(percpu, slot_move_down(percpu, offset)) < 0)
		return done;
	in += done;
	nr -= done;
	return done + at_least_0(TRY_AGAIN(
			      percpu, slot_push_batch(percpu, offset, in, nr)));
}

uint32_t percpu_push_batch(struct percpu *percpu, uint32_t offset,
			   const uint32_t *in, uint32_t nr)
{
	struct turn turn;
	struct slot *slot;

	if (percpu->rseq_end)
		return push_by_section(percpu, offset, in, nr);
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return 0;
	nr = array_put(slot, in, nr);
	turn_end(&turn);
	return nr;
}

/* Stocks: each ends in one store, too [C6]. */

static bool take_in_turn(struct slot *slot, uint32_t key, uint32_t nr)
{
	uint64_t *at = slot_stock(slot, key), word = load_relaxed(at);

	if (STOCK_KEY(word) != key || STOCK_NUMBER(word) < nr)
		return false;
	store_relaxed(at, word - nr);
	return true;
}

bool percpu_stock_take(struct percpu *percpu, uint32_t offset, uint32_t key,
		       uint32_t nr)
{
	struct turn turn;
	struct slot *slot;
	bool done;

	if (percpu->rseq_end)
		return TRY_AGAIN(percpu,
				 slot_stock_take(percpu, offset, key, nr)) > 0;
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return false;
	done = take_in_turn(slot, key, nr);
	turn_end(&turn);
	return done;
}

static bool put_in_turn(struct slot *slot, uint32_t key, uint32_t nr,
			uint32_t max)
{
	uint64_t *at = slot_stock(slot, key), word = load_relaxed(at);

	if (STOCK_KEY(word) != key || nr > max || STOCK_NUMBER(word) > max - nr)
		return false;
	store_relaxed(at, word + nr);
	return true;
}

bool percpu_stock_put(struct percpu *percpu, uint32_t offset, uint32_t key,
		      uint32_t nr, uint32_t max)
{
	struct turn turn;
	struct slot *slot;
	bool done;

	if (percpu->rseq_end)
		return TRY_AGAIN(percpu, slot_stock_put(percpu, offset, key, nr,
							max)) > 0;
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return false;
	done = put_in_turn(slot, key, nr, max);
	turn_end(&turn);
	return done;
}

bool percpu_stock_swap(struct percpu *percpu, uint32_t offset, uint64_t word,
		       uint64_t *old)
{
	struct turn turn;
	struct slot *slot;
	uint64_t *at;

	if (percpu->rseq_end)
		return TRY_AGAIN(percpu, slot_stock_swap(percpu, offset, word,
							 old)) > 0;
	slot = turn_begin(percpu, offset, &turn);
	if (!slot)
		return false;
	at = slot_stock(slot, STOCK_KEY(word));
	*old = load_relaxed(at);
	store_relaxed(at, word);
	turn_end(&turn);
	return true;
}

struct slot *percpu_here(struct percpu *percpu, uint32_t offset)
{
	unsigned int cpu = (unsigned int)cpu_here();

	return cpu < percpu->nr_cpus ? percpu_slot(percpu, cpu, offset) : NULL;
}

/*
 * The kernel takes the registration for restart_others over from the parent,
 * but says so nowhere; asking again is cheap while there is one thread.
 */
void percpu_fork_child(struct percpu *percpu)
{
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++)
		lock_of(percpu, cpu)->word = 0;
	if (!percpu->rseq_end || !os->restart_register())
		return;
	percpu->rseq_end = 0;
	percpu->mode = PERCPU_LOCK;
	percpu->mode_fell_back = true;
}

static void check_slot(const struct slot *slot)
{
	union slot_ends ends = { .word = load_acquire(&slot->ends.word) };
	uint32_t tail = SLOT_TAIL(ends.window);

	ASSERT(tail <= ends.head && ends.head <= slot->size); /* [C2] */
	ASSERT(ends.head - tail <= slot_room(slot));	      /* [C2] */
	ASSERT(SLOT_TOP(ends.window) <= slot->size);
	ASSERT(load_relaxed(&slot->limit) <= slot_room(slot));
}

void percpu_check(const struct percpu *percpu)
{
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++)
		for (uint32_t i = 0; i < percpu->nr_lists; i++)
			check_slot(slot_nr(percpu, cpu, i));
}
