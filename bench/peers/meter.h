/* SPDX-License-Identifier: MIT */
/*
 * What a loop took, in cycles and in nanoseconds.
 *
 * The discipline of time_bench: before the loop the pipeline is emptied and the
 * time stamp read; after it the stamp is read by the instruction that waits for
 * all before it, and the pipeline is emptied again.  The wall clock is read
 * inside, so that emptying, which a hypervisor may make slow, is in neither.
 */
#ifndef QUIRE_BENCH_METER_H
#define QUIRE_BENCH_METER_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

#define METER_CYCLES 1

static inline void meter_empty_pipeline(void)
{
	unsigned int a, b, c, d;

	__cpuid(0, a, b, c, d);
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
}

static inline uint64_t meter_cycles_begin(void)
{
	meter_empty_pipeline();
	return __rdtsc();
}

static inline uint64_t meter_cycles_end(void)
{
	unsigned int cpu;
	uint64_t cycles = __rdtscp(&cpu);

	meter_empty_pipeline();
	return cycles;
}
#else
#define METER_CYCLES 0

static inline uint64_t meter_cycles_begin(void)
{
	return 0;
}

static inline uint64_t meter_cycles_end(void)
{
	return 0;
}
#endif

/* Fewer elements, or more, are no measurement. */
#define METER_LEAST 1000u
#define METER_MOST  ((uint64_t)1 << 32)

struct meter {
	uint64_t cycles, ns; /* when it began; then, what it took */
};

static inline uint64_t meter_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void meter_start(struct meter *m)
{
	m->cycles = meter_cycles_begin();
	m->ns = meter_now_ns();
}

static inline void meter_stop(struct meter *m)
{
	m->ns = meter_now_ns() - m->ns;
	m->cycles = meter_cycles_end() - m->cycles;
}

/* The compiler must not see what became of a value, or that nothing did. */
#define HIDDEN(x) __asm__ volatile("" : "+r"(x) : : "memory")

/* ---- common.c ---- */

/* meter_pin - to the @nr-th CPU that the process began with, around */
void meter_pin(unsigned int nr);
unsigned int meter_nr_cpus(void);

/* meter_answer - one line for whoever started us */
void meter_answer(const char *variant, const char *metric, double value);

/* The time of one of the middle of @nr; sorts them. */
double meter_median(double *v, unsigned int nr);

/* meter_fail - a message, exit 125 */
void meter_fail(const char *why) __attribute__((noreturn, cold));

#endif /* QUIRE_BENCH_METER_H */
