/* SPDX-License-Identifier: MIT */
/*
 * Who hands out pages: quire and its peers, behind one table.
 *
 *	peer.c (main) ──> the loops, through this table: a call for each loop
 *	quire.c, malloc.c, mmap.c, mempool.c ──> page_get, page_put …, inline
 *	loops.h ──> the loops, compiled into each of these
 *
 * So the loops are the same text for all, and what they call is what a program
 * that uses the peer would call: nothing is between them.
 */
#ifndef QUIRE_BENCH_PEER_H
#define QUIRE_BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PEER_PAGE = 4096,
	PEER_OUT_MAX = 8192, /* pages that one thread holds at a time */
	PEER_THREADS = 2,
	PEER_RING = 4096, /* pages between the two of `cross` */
	PEER_RING_STEP = 64,
	PEER_VARIANTS = 16, /* in one process */
};

enum plan_kind {
	PLAN_SINGLE,
	PLAN_OUTSTANDING,
	PLAN_THREADS,
	PLAN_CROSS,
	PLAN_BULK,
	PLAN_ORDER,
	PLAN_RESERVE,
};

/* What is to be measured: the variant of a row, taken apart. */
struct plan {
	enum plan_kind kind;
	bool aged;
	unsigned int nr;    /* outstanding, or in a bulk */
	unsigned int order; /* of what is handed out */
	size_t bytes;	    /* of the pool */
};

/* From one thread to one other. */
struct ring {
	uint64_t head __attribute__((aligned(64))); /* the giver writes */
	uint64_t tail __attribute__((aligned(64))); /* the taker writes */
	void *entry[PEER_RING] __attribute__((aligned(64)));
};

struct peer {
	/* 0, or why it cannot be had */
	const char *(*open)(const struct plan *plan);
	/* once for each thread but the first, on itself; may be NULL */
	void (*thread_begin)(void);
	void (*thread_end)(void);
	/* pages of the plan's order that are out; -1: nobody knows */
	long (*nr_out)(void);
	/* what our own data take; may be NULL */
	void (*metadata)(double *bytes_a_page);
	/* an order that is not 0 needs another call than a page? */
	void (*single)(uint64_t nr);
	void (*block)(uint64_t nr);
	void (*outstanding)(void **room, size_t nr, uint64_t rounds);
	void (*bulk)(void **room, size_t nr, uint64_t rounds);
	void (*cross_get)(struct ring *r, uint64_t nr);
	void (*cross_put)(struct ring *r, uint64_t nr);
	/* for ageing: not measured */
	void (*take)(void **out, size_t nr);
	void (*give)(void **in, size_t nr);
};

extern const struct peer peer; /* of the program */

/* age.c: churn by two threads; returns what stays out, which give() ends */
struct aged;
struct aged *age(const struct plan *plan);
size_t age_kept(const struct aged *a);
void age_end(struct aged *a);

/* peer_together - @run on each of @nr threads, with its number */
void peer_together(unsigned int nr, void (*run)(unsigned int nr, void *arg),
		   void *arg);

#endif /* QUIRE_BENCH_PEER_H */
