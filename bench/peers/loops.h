/* SPDX-License-Identifier: MIT */
/*
 * The loops that are measured.  Whoever includes this has defined, inline:
 *
 *	void *page_get(void); void page_put(void *page);
 *	void *block_get(void); void block_put(void *block);
 *	bool bulk_get(void **out, size_t nr); void bulk_put(void **in, size_t nr);
 */
#ifndef QUIRE_BENCH_LOOPS_H
#define QUIRE_BENCH_LOOPS_H

#include "meter.h"
#include "peer.h"

#include <sched.h>

#define NO_PAGE "out of memory: the figures would mean nothing"

static void loop_single(uint64_t nr)
{
	void *page;

	while (nr--) {
		page = page_get();
		if (__builtin_expect(!page, 0))
			meter_fail(NO_PAGE);
		HIDDEN(page);
		page_put(page);
	}
}

static void loop_block(uint64_t nr)
{
	void *block;

	while (nr--) {
		block = block_get();
		if (__builtin_expect(!block, 0))
			meter_fail(NO_PAGE);
		HIDDEN(block);
		block_put(block);
	}
}

static void loop_outstanding(void **room, size_t nr, uint64_t rounds)
{
	size_t i;

	while (rounds--) {
		for (i = 0; i < nr; i++) {
			room[i] = page_get();
			if (__builtin_expect(!room[i], 0))
				meter_fail(NO_PAGE);
		}
		for (i = 0; i < nr; i++)
			page_put(room[i]);
	}
}

static void loop_bulk(void **room, size_t nr, uint64_t rounds)
{
	while (rounds--) {
		if (!bulk_get(room, nr))
			meter_fail(NO_PAGE);
		bulk_put(room, nr);
	}
}

/* Short: the other one runs on a CPU of its own, if there is one. */
static inline void loop_wait(unsigned int *tries)
{
	if (++*tries % 1024 == 0)
		sched_yield();
	__asm__ volatile("" : : : "memory");
}

static void loop_cross_get(struct ring *r, uint64_t nr)
{
	uint64_t head, room = PEER_RING;
	unsigned int tries = 0;

	for (head = 0; head < nr; head++) {
		if (head % PEER_RING_STEP == 0)
			__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
		while (head == room) {
			room = PEER_RING +
			       __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
			loop_wait(&tries);
		}
		r->entry[head % PEER_RING] = page_get();
		if (__builtin_expect(!r->entry[head % PEER_RING], 0))
			meter_fail(NO_PAGE);
	}
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
}

static void loop_cross_put(struct ring *r, uint64_t nr)
{
	uint64_t tail, there = 0;
	unsigned int tries = 0;

	for (tail = 0; tail < nr; tail++) {
		if (tail % PEER_RING_STEP == 0)
			__atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
		while (tail == there) {
			there = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
			loop_wait(&tries);
		}
		page_put(r->entry[tail % PEER_RING]);
	}
	__atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
}

static void loop_take(void **out, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		out[i] = block_get();
		if (!out[i])
			meter_fail(NO_PAGE);
	}
}

static void loop_give(void **in, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		block_put(in[i]);
}

#define PEER_LOOPS                                                             \
	.single = loop_single, .block = loop_block,                            \
	.outstanding = loop_outstanding, .bulk = loop_bulk,                    \
	.cross_get = loop_cross_get, .cross_put = loop_cross_put,              \
	.take = loop_take, .give = loop_give

#endif /* QUIRE_BENCH_LOOPS_H */
