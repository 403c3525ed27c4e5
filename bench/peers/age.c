/* SPDX-License-Identifier: MIT */
/*
 * Age a pool: what a program that has run for days leaves behind.
 *
 * Two threads take nearly all of it; what they took is shuffled and each of
 * them gives half of that back, so that a page goes back at a random time to a
 * random thread.  This is done again until a turn takes as long as the one
 * before.  Then nearly all is taken once more and a random half of it given
 * back: what is measured afterwards finds free pages between pages that are
 * out, and the pages of one thread beside those of the other.
 *
 * Given back whole, the pool would merge into the large blocks that it began
 * with, and be as fresh as before but for what threads keep to themselves.
 */
#include "meter.h"
#include "peer.h"

#include <stdlib.h>

enum { TURNS_LEAST = 2, TURNS_MOST = 6 };

#define NEARLY_ALL 0.95
#define STEADY	   0.10

struct aged {
	void **page;
	size_t nr;    /* of page */
	size_t kept;  /* the last so many of page are out */
	size_t given; /* of a turn: the first so many go back */
	uint64_t seed;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void shuffle(struct aged *a)
{
	size_t i, k;
	void *t;

	for (i = a->nr; i > 1; i--) {
		k = next_random(&a->seed) % i;
		t = a->page[i - 1];
		a->page[i - 1] = a->page[k];
		a->page[k] = t;
	}
}

static void take_part(unsigned int nr, void *arg)
{
	struct aged *a = arg;
	size_t from = a->nr * nr / PEER_THREADS;

	peer.take(a->page + from, a->nr * (nr + 1) / PEER_THREADS - from);
}

static void give_part(unsigned int nr, void *arg)
{
	struct aged *a = arg;
	size_t from = a->given * nr / PEER_THREADS;

	peer.give(a->page + from, a->given * (nr + 1) / PEER_THREADS - from);
}

static double turn(struct aged *a)
{
	uint64_t begin = meter_now_ns(), took;

	peer_together(PEER_THREADS, take_part, a);
	took = meter_now_ns() - begin;
	shuffle(a);
	begin = meter_now_ns();
	peer_together(PEER_THREADS, give_part, a);
	return (double)(took + meter_now_ns() - begin);
}

struct aged *age(const struct plan *plan)
{
	struct aged *a = calloc(1, sizeof(*a));
	double before = 0, now = 0;
	unsigned int i;

	if (a)
		a->nr = (size_t)(NEARLY_ALL *
				 (double)(plan->bytes / PEER_PAGE >>
					  plan->order));
	if (a)
		a->page = calloc(a->nr, sizeof(*a->page));
	if (!a || !a->page)
		meter_fail("out of memory");
	a->seed = 20170101;
	a->given = a->nr;
	for (i = 0; i < TURNS_MOST; i++) {
		before = now;
		now = turn(a);
		if (i + 1 >= TURNS_LEAST && now < before * (1 + STEADY) &&
		    now > before * (1 - STEADY))
			break;
	}
	a->given = a->nr / 2;
	a->kept = a->nr - a->given;
	turn(a);
	return a;
}

size_t age_kept(const struct aged *a)
{
	return a->kept;
}

void age_end(struct aged *a)
{
	peer.give(a->page + a->given, a->kept);
	free(a->page);
	free(a);
}
