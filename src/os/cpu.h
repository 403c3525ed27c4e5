/* SPDX-License-Identifier: MIT */
/*
 * The CPU that a thread runs on, and what keeps it there for a moment.
 *
 * Calls that a kernel may refuse stand in the table of os.h (restart_register,
 * restart_others); these here cannot fail, or say so by a number, and are
 * called too often for a table.  None of them touches errno.  All may be called
 * from signal handlers and in a forked child.
 */
#ifndef OS_CPU_H
#define OS_CPU_H

#include <stddef.h>
#include <stdint.h>

/* The CPU this thread is on, out of date at once; negative: not known. */
int cpu_here(void);

/* This thread's signals, all of them held back, and as they were before. */
struct cpu_signals {
	uint64_t mask;
};
void cpu_block_signals(struct cpu_signals *before);
void cpu_restore_signals(const struct cpu_signals *before);

/* The largest id that a CPU of this machine can have, plus 1. */
unsigned int cpu_end(void);

#endif /* OS_CPU_H */
