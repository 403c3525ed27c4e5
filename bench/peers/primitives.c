/* SPDX-License-Identifier: MIT */
/*
 * What the pieces cost: the child of `quire bench time_bench`.
 *
 *	bench-primitives
 *
 * A list of a CPU can be protected from whatever interrupts its owner by a
 * restartable sequence, by a lock, or by a lock with all signals blocked: in
 * user space that is what masking interrupts is in a kernel.  So this measures
 * the primitives one by one, and a page allocated and freed in each mode, in
 * one process, so that the difference of two modes can be held against the
 * primitives that make it.
 *
 * Answers ITEM/elem (ns) and ITEM/cycles, the middle of several turns each; an
 * item that this machine does not have answers nothing.  A second thread sleeps
 * meanwhile: libc does without atomic instructions where there is only one.
 */
#include <quire/page.h>

#include "meter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ_ID 1
#endif
#endif
#ifndef HAVE_RSEQ_ID
#define HAVE_RSEQ_ID 0
#endif

enum { TURNS = 5, TURN_NS = 4000000, NR_MODES = 4, ZONE_BYTES = 64 << 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static uint32_t word;
static sigset_t every_signal;
static struct quire_zone *zone;

/* ---- the loops ---- */

static void empty_loop(uint64_t nr)
{
	while (nr--)
		HIDDEN(nr);
}

static __attribute__((noinline)) void nothing(void)
{
	__asm__ volatile("");
}

static void function_call(uint64_t nr)
{
	while (nr--)
		nothing();
}

static void function_pointer(uint64_t nr)
{
	void (*call)(void) = nothing;

	while (nr--) {
		HIDDEN(call);
		call();
	}
}

static void mutex_pair(uint64_t nr)
{
	while (nr--) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void spin_pair(uint64_t nr)
{
	while (nr--) {
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
	}
}

static void lock_cmpxchg(uint64_t nr)
{
	uint32_t seen;

	while (nr--) {
		seen = 0;
		__atomic_compare_exchange_n(&word, &seen, 0, 0,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	}
}

/* What a lock that is tried once is: one atomic access, one store. */
static void trylock_pair(uint64_t nr)
{
	uint32_t seen;

	while (nr--) {
		seen = 0;
		if (__atomic_compare_exchange_n(&word, &seen, 1, 0,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
	}
}

static void signals_block_restore(uint64_t nr)
{
	sigset_t before;

	while (nr--) {
		pthread_sigmask(SIG_SETMASK, &every_signal, &before);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
}

static void signals_block(uint64_t nr)
{
	sigset_t before;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	while (nr--)
		pthread_sigmask(SIG_SETMASK, &every_signal, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Blocked first, then the lock; the mail has both orders. */
static void signals_then_spin(uint64_t nr)
{
	sigset_t before;

	while (nr--) {
		pthread_sigmask(SIG_SETMASK, &every_signal, &before);
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
}

#if HAVE_RSEQ_ID
static inline const volatile struct rseq *own_rseq(void)
{
	char *thread;

	__asm__("mov %%fs:0, %0" : "=r"(thread));
	return (const volatile struct rseq *)(thread + __rseq_offset);
}

static bool has_rseq(void)
{
	return __rseq_size && own_rseq()->cpu_id < CPU_SETSIZE;
}

static void rseq_cpu_id(uint64_t nr)
{
	uint32_t cpu;

	while (nr--) {
		cpu = own_rseq()->cpu_id;
		HIDDEN(cpu);
	}
}
#else
static bool has_rseq(void)
{
	return false;
}

static void rseq_cpu_id(uint64_t nr)
{
	(void)nr;
}
#endif

static void getcpu_call(uint64_t nr)
{
	int cpu;

	while (nr--) {
		cpu = sched_getcpu();
		HIDDEN(cpu);
	}
}

static void system_call(uint64_t nr)
{
	while (nr--)
		syscall(SYS_getppid);
}

static void page_pair(uint64_t nr)
{
	void *page;

	while (nr--) {
		page = quire_page_alloc(zone, 0);
		if (!page)
			meter_fail("out of memory");
		HIDDEN(page);
		quire_block_free(zone, page);
	}
}

/* ---- which, and how often ---- */

static void measure(const char *name, void (*loop)(uint64_t nr))
{
	double ns[TURNS], cycles[TURNS];
	struct meter m;
	uint64_t nr = METER_LEAST;
	unsigned int i;

	loop(nr);
	meter_start(&m);
	loop(nr);
	meter_stop(&m);
	nr = nr * TURN_NS / (m.ns + 1);
	nr = nr < METER_LEAST ? METER_LEAST : nr;
	for (i = 0; i < TURNS; i++) {
		meter_start(&m);
		loop(nr);
		meter_stop(&m);
		ns[i] = (double)m.ns / (double)nr;
		cycles[i] = (double)m.cycles / (double)nr;
	}
	meter_answer(name, "elem", meter_median(ns, TURNS));
	if (METER_CYCLES)
		meter_answer(name, "cycles", meter_median(cycles, TURNS));
}

static void measure_primitives(void)
{
	static const struct {
		const char *name;
		void (*loop)(uint64_t nr);
	} items[] = {
		{ "empty_loop", empty_loop },
		{ "function_call", function_call },
		{ "function_pointer", function_pointer },
		{ "lock_cmpxchg", lock_cmpxchg },
		{ "trylock", trylock_pair },
		{ "spin", spin_pair },
		{ "mutex", mutex_pair },
		{ "signals", signals_block_restore },
		{ "signals_block", signals_block },
		{ "signals_spin", signals_then_spin },
		{ "rseq_cpu_id", rseq_cpu_id },
		{ "getcpu", getcpu_call },
		{ "system_call", system_call },
	};
	size_t i;

	for (i = 0; i < sizeof(items) / sizeof(*items); i++)
		if (items[i].loop != rseq_cpu_id || has_rseq())
			measure(items[i].name, items[i].loop);
}

static void measure_mode(const char *name, enum quire_pcp mode)
{
	struct quire_zone_options o = { .size = sizeof(o),
					.bytes = ZONE_BYTES,
					.pcp = mode,
					.flags = QUIRE_ZONE_STRICT };
	int rc = quire_zone_open(&o, &zone);

	if (rc == -EOPNOTSUPP)
		return;
	if (rc)
		meter_fail(strerror(-rc));
	measure(name, page_pair);
	if (quire_zone_close(zone))
		meter_fail("pages were lost");
}

static void *sleep_on(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum quire_pcp mode;
	} modes[NR_MODES] = { { "page_rseq", QUIRE_PCP_RSEQ },
			      { "page_lock", QUIRE_PCP_LOCK },
			      { "page_mask", QUIRE_PCP_MASK },
			      { "page_off", QUIRE_PCP_OFF } };
	pthread_t sleeper;
	int i;

	(void)argv;
	if (argc != 1)
		return 2;
	sigfillset(&every_signal);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	if (pthread_create(&sleeper, NULL, sleep_on, NULL))
		meter_fail("no thread");
	meter_pin(0);
	measure_primitives();
	for (i = 0; i < NR_MODES; i++)
		measure_mode(modes[i].name, modes[i].mode);
	return 0;
}
