/* SPDX-License-Identifier: MIT */
/*
 * Who is in the slow path of a zone [Z2].
 *
 *	gate: closed │ number of threads inside
 *
 * Inside, a thread may hold pages that are in no list, and locks of the zone;
 * so fork closes the gate and waits until it is empty (zone_fork.c).
 *
 * [E1] A thread that is inside any gate passes every other: whoever closed
 *	them waits for it, and must not be waited for by it.
 * [E2] Being inside is noted (inside) only while the word counts it, so that a
 *	handler that comes between the two goes the way of all others; near is
 *	noted for longer, so that a fork in such a handler knows.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "page/zone.h"

/* Own thread only. */
static __thread struct {
	unsigned int near, inside;
} here __attribute__((tls_model("initial-exec")));

static void fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Pairs with the release of a fork that opens it. */
static bool try_enter(struct quire_zone *zone, uint32_t *seen)
{
	*seen = load_relaxed(&zone->gate);
	while (here.inside || !(*seen & GATE_CLOSED)) {
		if (cas_acquire(&zone->gate, *seen, *seen + 1))
			return true;
		*seen = load_relaxed(&zone->gate);
	}
	return false;
}

bool gate_enter(struct quire_zone *zone, bool atomic)
{
	uint32_t seen;

	here.near++;
	fence();
	while (!try_enter(zone, &seen)) {
		if (atomic) {
			here.near--;
			return false;
		}
		os->wait(&zone->gate, seen, UINT64_MAX);
	}
	fence();
	here.inside++; /* [E2] */
	return true;
}

void gate_leave(struct quire_zone *zone)
{
	here.inside--;
	fence();
	/* pairs with the acquire of a fork that waits */
	if (unlikely(__atomic_fetch_sub(&zone->gate, 1, __ATOMIC_RELEASE) ==
		     (GATE_CLOSED | 1)))
		os->wake(&zone->gate);
	fence();
	here.near--;
}

unsigned int gate_depth(void)
{
	return here.near;
}
