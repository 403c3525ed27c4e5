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
	char thp[16]; /* always, madvise, never; "unknown" */
	long cpus;    /* that we may run on */
	uint64_t memory_bytes;
};

void machine_look(struct machine *m);

/* What one page of 4 KiB costs, in ns: map, touch, unmap.  0: not known. */
struct fault_cost {
	double page;
	double huge; /* as a part of a huge page; `page` where there are none */
};

/*
 * machine_fault_cost - measure it
 * On 64 MiB, in a process of its own, so that we stay small (see child.c about
 * ru_maxrss).
 */
struct fault_cost machine_fault_cost(void);

#endif /* QUIRE_CLI_MACHINE_H */
