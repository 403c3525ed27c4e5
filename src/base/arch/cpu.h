/* SPDX-License-Identifier: MIT */
/*
 * What differs between CPU kinds: how to pause in a short spin, and a cycle
 * counter.  `generic` has neither: the pause is a compiler barrier and the
 * counter stands still, so that sampled hold times read 0.
 */
#ifndef BASE_ARCH_CPU_H
#define BASE_ARCH_CPU_H

#include <stdint.h>

#if defined(__x86_64__)

static inline void cpu_pause(void)
{
	__builtin_ia32_pause();
}

static inline uint64_t cpu_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

static inline void cpu_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}

static inline uint64_t cpu_cycles(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

#else

static inline void cpu_pause(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline uint64_t cpu_cycles(void)
{
	return 0;
}

#endif

#endif /* BASE_ARCH_CPU_H */
