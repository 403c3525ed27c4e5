/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU lists of page numbers.
 *
 *	base ── CPU 0 ──┬─ list 0 (never open) ── header
 *	 │		├─ list 1 ── header, array of page numbers
 *	 │		└─ list 2 ── …
 *	 └─ CPU 1 ── …		one stride for each possible CPU
 *
 *	array	0 ──── tail ═══════════ head ──── top ──── size
 *		 free	    │ oldest … newest │ room	 │ not now
 *
 * A list is what lies between tail and head: pushed and popped at the newest
 * end, drained at the oldest, so it wanders up the array.  When it is at the
 * end it is moved down; an array is twice the list's room, so that this costs
 * less than one entry's copy for each that was drained [C7].  (A ring needs no
 * moving, but two more instructions at each pop and push.)
 * All three stand in one word, so each operation ends in one store that
 * commits it; until then nothing of it can be seen.
 *
 * Two ways to use a list of the CPU that a thread happens to run on:
 *
 *	slot_*	  a restartable sequence (rseq).  A thread that is preempted,
 *		  migrated or signalled inside begins anew, so there is neither
 *		  a lock nor an atomic access, and a handler may do anything
 *		  meanwhile.  Fails at once where the mode is not rseq, and
 *		  where it was interrupted.
 *	percpu_*  whatever the mode is: rseq, else a lock for each CPU that is
 *		  tried once.  Never waits; a failure means "go to the zone".
 *
 * [C1] A list is changed by sections on its own CPU, or by the one thread that
 *	closed it (percpu_close … percpu_open), never by both: closed is looked
 *	at inside the section, and closing returns only when no section that
 *	saw it open can still commit (membarrier, or the CPU's lock).
 * [C2] tail <= head <= size, and head - tail <= size / 2; pushing stops at top,
 *	which is the smaller of tail + limit and size.
 * [C3] A limit that is 0 changes only through percpu_open.  A list is closed in
 *	two words: limit 0, which stops the operations that store tail and top,
 *	and SLOT_CLOSED in tail with a top of 0, which stop the others.
 * [C4] Nothing here writes a word that the kernel owns, except rseq_cs.
 * [C7] Where head is at the end and the list is not full, tail >= head - tail:
 *	moving the list down never overlaps.
 *
 * Pages in a list between two calls belong to the list; a section that was
 * given up has changed nothing.
 */
#ifndef PERCPU_PERCPU_H
#define PERCPU_PERCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

enum percpu_mode {
	PERCPU_RSEQ,
	PERCPU_LOCK,
	PERCPU_MASK, /* the lock, with all signals blocked around it */
	PERCPU_OFF,
};

#define PERCPU_LISTS_MAX 16
/* List 0 of each CPU is closed for ever: operations on it fail as they do on a
 * list that is empty and full.  It costs the fast path no test to use it. */
#define PERCPU_CLOSED_LIST 0

/* Room of a list at most, and bytes of all lists of a CPU (a constant, since
 * the fast path multiplies with it; only what is used is ever resident). */
#define PERCPU_ENTRIES_MAX 8192u
#define PERCPU_SHIFT	   19
#define PERCPU_STRIDE	   (1u << PERCPU_SHIFT)

/* Where the entries are; one word, so that it can be replaced as one. */
union slot_ends {
	uint64_t word;
	struct {
		uint32_t window; /* tail | SLOT_CLOSED if so | top << 16 */
		uint32_t head;	 /* one past the newest */
	};
};

#define SLOT_CLOSED	       0x8000u
#define SLOT_TAIL(window)      ((window)&0x7fffu)
#define SLOT_TOP(window)       ((window) >> 16)
#define SLOT_WINDOW(tail, top) ((tail) | (uint32_t)(top) << 16)

struct slot {
	/* own CPU (rseq), or the CPU's lock, or whoever closed it */
	union slot_ends ends;
	/* atomic [C3] */
	uint32_t limit; /* entries at most; 0: closed */
	/* const after init */
	uint32_t size; /* entries of the array: twice the room */
	/* the page layer's, changed by whoever refills or drains (zone lock) */
	uint32_t open_limit; /* what limit is when it is open */
	uint32_t user[11];
	/* as ends */
	uint32_t page[];
};

/* One CPU's lock, in the line before its lists; lock and mask modes only. */
struct percpu_lock {
	uint32_t word;
	uint32_t pad[15];
};

struct percpu {
	/* const after init: all that the fast path reads */
	char *base;	   /* of CPU 0 */
	uint32_t rseq_end; /* bytes of strides that sections may use; 0: mode
			      is not rseq */
	uint32_t nr_cpus;  /* possible ones; 0: mode is PERCPU_OFF */
	uint32_t nr_lists;
	uint32_t offset[PERCPU_LISTS_MAX]; /* of each list in a stride */
	enum percpu_mode mode;
	bool mode_fell_back; /* rseq was asked for, or AUTO, and is not there */
	size_t bytes;	     /* that lists can take if all are used */
	/* atomic, relaxed: statistics */
	uint64_t nr_bypass;  /* the lock was taken: gone to the zone */
	uint64_t nr_aborted; /* given up after PERCPU_TRIES aborts */
	uint64_t nr_remote;  /* lists of another CPU closed */
};

/* Aborts of one operation after which it goes to the zone. */
#define PERCPU_TRIES 16

/*
 * percpu_init - lists with room for @entries[i] page numbers (list 0: nothing)
 * @entries: up to PERCPU_ENTRIES_MAX; twice their sum must fit a stride; @want: PERCPU_RSEQ falls back to PERCPU_LOCK.
 * All lists begin empty and open, with a limit of 1.
 * Returns 0 or -ENOMEM; percpu->mode says what is in force.  In the build for
 * one CPU that is PERCPU_OFF: there are no lists but on paper.
 */
int percpu_init(struct percpu *percpu, unsigned int nr_lists,
		const uint32_t *entries, enum percpu_mode want);
void percpu_destroy(struct percpu *percpu);

static inline struct slot *percpu_slot(const struct percpu *percpu,
				       unsigned int cpu, uint32_t offset)
{
	return (struct slot *)(percpu->base + ((size_t)cpu << PERCPU_SHIFT) +
			       offset);
}

/* Entries now: a hint unless it is closed or nobody runs. */
static inline uint32_t slot_count(const struct slot *slot)
{
	union slot_ends ends = { .word = load_acquire(&slot->ends.word) };

	return ends.head - SLOT_TAIL(ends.window);
}

/* The oldest entry: a hint, and anything where there is none. */
static inline uint32_t slot_oldest(const struct slot *slot)
{
	return load_relaxed(
		&slot->page[SLOT_TAIL(load_relaxed(&slot->ends.window))]);
}

/* What its limit may be set to. */
static inline uint32_t slot_room(const struct slot *slot)
{
	return slot->size / 2;
}

/* Whatever the mode; never waits.  A page number, or -1. */
int64_t percpu_pop(struct percpu *percpu, uint32_t offset);
bool percpu_push(struct percpu *percpu, uint32_t offset, uint32_t page);
/* The newest @nr, or the oldest; returns how many. */
uint32_t percpu_pop_batch(struct percpu *percpu, uint32_t offset, uint32_t *out,
			  uint32_t nr);
uint32_t percpu_pop_oldest(struct percpu *percpu, uint32_t offset,
			   uint32_t *out, uint32_t nr);
/* As many of them as there is room for; returns how many, from in[0] on. */
uint32_t percpu_push_batch(struct percpu *percpu, uint32_t offset,
			   const uint32_t *in, uint32_t nr);
/* The list of the CPU that this runs on just now: for its user[] and for hints.
 * NULL when there is none. */
struct slot *percpu_here(struct percpu *percpu, uint32_t offset);

/* The limit of an open list, and of a closed one when it opens. */
void percpu_set_limit(struct slot *slot, uint32_t limit);

/*
 * percpu_close - keep everybody out of all lists of @cpu
 * One thread at a time for one CPU.  Waits for a section that runs there to
 * end; a section never waits for this.  -EAGAIN: membarrier failed; the lists
 * are open again.
 * percpu_close_all: of all CPUs, with one membarrier for all.
 */
int percpu_close(struct percpu *percpu, unsigned int cpu);
int percpu_close_all(struct percpu *percpu);
/* Take from a closed list, oldest first. */
uint32_t slot_take_closed(struct slot *slot, uint32_t *out, uint32_t nr);
void percpu_open(struct percpu *percpu, unsigned int cpu);

/* In a forked child, before any other call: locks that other threads held are
 * free, lists that were closed stay so (their closer opens them). */
void percpu_fork_child(struct percpu *percpu);

/* Panics where a list breaks [C2]. */
void percpu_check(const struct percpu *percpu);

/*
 * A stock: a list of which nothing is used but STOCK_WORDS words, each a number
 * that belongs to a key, as a store belongs to an account.  Its own CPU takes
 * from it and puts to it; who closed it may change it as well.
 *
 *	word	key │ number		key 0: nobody's
 *
 * Where a key has its word is STOCK_WORD(key); another key may have it just
 * now.  Whatever the mode; false where it has, where there is not as much (not
 * as much room below @max), and where the list is closed or taken.
 * percpu_stock_swap: puts a word in its place; *old is what stood there.
 */
#define STOCK_WORDS	   64u
#define STOCK_ENTRIES	   (STOCK_WORDS * 2) /* of the list */
#define STOCK_WORD(key)	   ((key) & (STOCK_WORDS - 1))
#define STOCK(key, nr)	   ((uint64_t)(key) << 32 | (uint32_t)(nr))
#define STOCK_KEY(word)	   ((uint32_t)((word) >> 32))
#define STOCK_NUMBER(word) ((uint32_t)(word))

static inline uint64_t *slot_stock(struct slot *slot, uint32_t key)
{
	return (uint64_t *)(void *)slot->page + STOCK_WORD(key);
}

bool percpu_stock_take(struct percpu *percpu, uint32_t offset, uint32_t key,
		       uint32_t nr);
bool percpu_stock_put(struct percpu *percpu, uint32_t offset, uint32_t key,
		      uint32_t nr, uint32_t max);
bool percpu_stock_swap(struct percpu *percpu, uint32_t offset, uint64_t word,
		       uint64_t *old);

/*
 * The same by a restartable sequence, tried once: negative (false) where there
 * is no page or no room, where the list is closed, where the mode is not rseq,
 * and also where the sequence was interrupted.  What comes after a failure
 * begins with percpu_*, which tries that again, PERCPU_TRIES times at most.
 *
 *	int64_t slot_pop(percpu, offset)
 *	bool slot_push(percpu, offset, page)
 *	int64_t slot_pop_batch(percpu, offset, out, nr)
 *	int64_t slot_pop_oldest(percpu, offset, out, nr)
 *	int64_t slot_push_batch(percpu, offset, in, nr)
 *	int slot_stock_take(percpu, offset, key, nr)
 *	int slot_stock_put(percpu, offset, key, nr, max)
 *	int slot_stock_swap(percpu, offset, word, old)
 *
 * A push fails also at the end of the array; percpu_* moves the list down.
 */
enum {
	SLOT_NONE = -1,
	SLOT_ABORTED = -2,
};

#if !defined(CONFIG_UP)
#define CONFIG_UP 0
#endif

#if defined(__SANITIZE_THREAD__)
#define PERCPU_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PERCPU_UNDER_TSAN 1
#endif
#endif

#if defined(__x86_64__) && !CONFIG_UP && !defined(PERCPU_UNDER_TSAN)
#include "percpu/arch/rseq_x86_64.h"
#else
#include "percpu/arch/rseq_none.h"
#endif

#endif /* PERCPU_PERCPU_H */
