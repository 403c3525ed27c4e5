/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU lists of page numbers.
 *
 *	base ── CPU 0 ──┬─ list 0 (never open) ── header
 *	 │		├─ list 1 ── header, ring of 2^n page numbers
 *	 │		└─ list 2 ── …
 *	 └─ CPU 1 ── …		one stride for each possible CPU
 *
 * A list is a ring: pushed and popped at the newest end, drained at the oldest.
 * Both ends stand in one word, so each operation ends in one store that commits
 * it; until then nothing of it can be seen.
 *
 * Two ways to use a list of the CPU that a thread happens to run on:
 *
 *	slot_*	  a restartable sequence (rseq).  A thread that is preempted,
 *		  migrated or signalled inside begins anew, so there is neither
 *		  a lock nor an atomic access, and a handler may do anything
 *		  meanwhile.  Fails at once where percpu->nr_rseq is 0, and
 *		  where it was interrupted.
 *	percpu_*  whatever the mode is: rseq, else a lock for each CPU that is
 *		  tried once.  Never waits; a failure means "go to the zone".
 *
 * [C1] A list is changed by sections on its own CPU, or by the one thread that
 *	closed it (percpu_close … percpu_open), never by both: limit 0 is looked
 *	at inside the section, and closing returns only when no section that
 *	saw it open can still commit (membarrier, or the CPU's lock).
 * [C2] head - tail <= mask + 1, modulo 2^32; pushing stops at limit.
 * [C3] A limit that is 0 changes only through percpu_open.
 * [C4] Nothing here writes a word that the kernel owns, except rseq_cs.
 *
 * Pages in a ring between two calls belong to the list; a section that was
 * given up has changed nothing.
 */
#ifndef PERCPU_PERCPU_H
#define PERCPU_PERCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A ring's two ends, in one word: entries tail … head - 1, modulo 2^32. */
struct slot_ends {
	uint32_t tail; /* oldest */
	uint32_t head; /* one past the newest */
};

struct slot {
	/* own CPU (rseq), or the CPU's lock, or whoever closed it */
	struct slot_ends ends __attribute__((aligned(8)));
	/* atomic [C3] */
	uint32_t limit; /* entries at most; 0: closed */
	/* const after init */
	uint32_t mask; /* entries of the ring - 1 */
	/* the page layer's, changed by whoever refills or drains (zone lock) */
	uint32_t open_limit; /* what limit is when it is open */
	uint32_t user[11];
	/* as ends */
	uint32_t ring[];
};

/* One CPU's lock, in the line before its lists; lock and mask modes only. */
struct percpu_lock {
	uint32_t word;
	uint32_t pad[15];
};

struct percpu {
	/* const after init: all that the fast path reads */
	char *base;	  /* of CPU 0 */
	uint32_t shift;	  /* a CPU's stride is 1 << shift */
	uint32_t nr_rseq; /* CPUs that sections may use; 0: mode is not rseq */
	uint32_t nr_cpus; /* possible ones; 0: mode is PERCPU_OFF */
	uint32_t nr_lists;
	uint32_t offset[PERCPU_LISTS_MAX]; /* of each list in a stride */
	enum percpu_mode mode;
	bool mode_fell_back; /* rseq was asked for, or AUTO, and is not there */
	size_t bytes;
	/* atomic, relaxed: statistics */
	uint64_t nr_bypass;  /* the lock was taken: gone to the zone */
	uint64_t nr_aborted; /* given up after PERCPU_TRIES aborts */
	uint64_t nr_remote;  /* lists of another CPU closed */
};

/* Aborts of one operation after which it goes to the zone. */
#define PERCPU_TRIES 16

/*
 * percpu_init - lists with room for @entries[i] page numbers (list 0: nothing)
 * @entries: powers of two; @want: PERCPU_RSEQ falls back to PERCPU_LOCK.
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
	return (struct slot *)(percpu->base + ((size_t)cpu << percpu->shift) +
			       offset);
}

/* Entries now: a hint unless it is closed or nobody runs. */
static inline uint32_t slot_count(const struct slot *slot)
{
	uint64_t word = __atomic_load_n((const uint64_t *)&slot->ends,
					__ATOMIC_ACQUIRE);

	return (uint32_t)(word >> 32) - (uint32_t)word;
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
 * percpu_close_all: of all CPUs, with one membarrier.
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

static inline bool slot_push(const struct percpu *percpu, uint32_t offset,
			     uint32_t page)
{
	return slot_push_once(percpu, offset, page) > 0;
}

#endif /* PERCPU_PERCPU_H */
