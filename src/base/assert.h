/* SPDX-License-Identifier: MIT */
/*
 * Assertions.
 *
 *	ASSERT        always on, O(1): broken internal state must not go on
 *	DEBUG_ASSERT  with -Dassertions=debug or more: dearer checks
 *
 * Misuse by the caller that can be seen is an error code, never an assertion.
 * base makes no system call, so what a panic does is set by os at start.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

typedef void (*panic_fn)(const char *what, const char *file, int line);

/* const after init; the default traps */
extern panic_fn panic_hook;

__attribute__((noreturn, cold, noinline)) void panic_at(const char *what,
							const char *file,
							int line);

#define ASSERT(condition)                                                      \
	do {                                                                   \
		if (__builtin_expect(!(condition), 0))                         \
			panic_at(#condition, __FILE__, __LINE__);              \
	} while (0)

#ifndef CONFIG_DEBUG
#define CONFIG_DEBUG 0
#endif

#define DEBUG_ASSERT(condition)                                                \
	do {                                                                   \
		if (CONFIG_DEBUG)                                              \
			ASSERT(condition);                                     \
	} while (0)

#endif /* BASE_ASSERT_H */
