/* SPDX-License-Identifier: MIT */
/* Rounding and checked arithmetic.  No system call, no state. */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* From here on the compiler knows nothing of the value of x: where a branch is
 * to stay a branch, because it is predicted and a computed address waits. */
#define hide_value(x) __asm__ volatile("" : "+r"(x))

/* For fast paths: a call would cost more than the size it saves. */
#define always_inline inline __attribute__((always_inline))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(pointer, type, member)                                    \
	((type *)((char *)(pointer)-offsetof(type, member)))

static inline bool is_power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/* @to must be a power of two. */
static inline size_t round_down_to(size_t n, size_t to)
{
	return n & ~(to - 1);
}

/* Returns false when the result would wrap. */
static inline bool round_up_checked(size_t n, size_t to, size_t *out)
{
	if (__builtin_add_overflow(n, to - 1, out))
		return false;
	*out &= ~(to - 1);
	return true;
}

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

#endif /* BASE_BITS_H */
