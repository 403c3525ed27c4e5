/* SPDX-License-Identifier: MIT */
/*
 * The machine that a result was made on, and what a page fault costs there.
 */
#ifndef QUIRE_CLI_MACHINE_H
#define QUIRE_CLI_MACHINE_H

#include <stdint.h>

struct machine {
	char cpu[128];
	char kernel[128];
	char libc[32];
	char thp[16];		/* always, madvise, never; "unknown" */
	long cpus;		/* that we may run on */
	uint64_t memory_bytes;
};

void machine_look(struct machine *m);

/*
 * machine_fault_ns - what one 4 KiB page costs: map, touch, unmap
 * Measured on 64 MiB in a process of its own, so that we stay small (see
 * child.c about ru_maxrss).  0 if it could not be measured.
 */
double machine_fault_ns(void);

#endif /* QUIRE_CLI_MACHINE_H */
