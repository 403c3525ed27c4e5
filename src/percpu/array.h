/* SPDX-License-Identifier: MIT */
/*
 * A list's array, by whoever has it alone: the holder of its CPU's lock, or the
 * thread that closed it.  What the sections of arch/ do, in C.
 *
 * Each ends in one store [C6].  It is atomic, since slot_count reads from
 * anywhere, and covers no more than is changed, since percpu_set_limit may
 * change the window meanwhile.
 */
#ifndef PERCPU_ARRAY_H
#define PERCPU_ARRAY_H

#include "os/os.h"
#include "percpu/percpu.h"

uint32_t array_take_newest(struct slot *slot, uint32_t *out, uint32_t nr);
uint32_t array_take_oldest(struct slot *slot, uint32_t *out, uint32_t nr);
/* Moves the list down where that makes room. */
uint32_t array_put(struct slot *slot, const uint32_t *in, uint32_t nr);

/* A CPU's lock.  As in os/lock.c: 0 free, 1 held, 2 held and somebody sleeps */

static inline struct percpu_lock *lock_of(const struct percpu *percpu,
					  unsigned int cpu)
{
	return (struct percpu_lock *)percpu_slot(percpu, cpu, 0);
}

static inline void cpu_unlock(struct percpu_lock *lock)
{
	if (unlikely(exchange_release(&lock->word, 0) == 2))
		os->wake(&lock->word);
}

static inline struct slot *slot_nr(const struct percpu *percpu,
				   unsigned int cpu, uint32_t list)
{
	return percpu_slot(percpu, cpu, percpu->offset[list]);
}

/* Where pushing stops [C2]. */
static inline uint32_t top_of(const struct slot *slot, uint32_t tail,
			      uint32_t limit)
{
	return (uint32_t)min_size(tail + limit, slot->size);
}

/* Returns how many; commits nothing. */
static inline uint32_t copy_oldest(const struct slot *slot, uint32_t tail,
				   uint32_t *out, uint32_t nr)
{
	nr = (uint32_t)min_size(nr, slot->ends.head - tail);
	for (uint32_t i = 0; i < nr; i++)
		out[i] = slot->page[tail + i];
	return nr;
}

#endif /* PERCPU_ARRAY_H */
