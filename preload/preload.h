/* SPDX-License-Identifier: MIT */
/*
 * The preload library, seen from its own files.
 *
 *	malloc.c	the malloc family: big blocks to the store, the rest on
 *	next.c		the malloc library behind us
 *	mapping.c	what the program does to mappings, noted and passed on
 *	settings.c	QUIRE_OPTIONS
 *	clone.c		processes that are made without fork handlers
 *	start.c		start, fork, end
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include <malloc.h>
#include <stdbool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "region/store.h"

#define EXPORT __attribute__((visibility("default")))
/* On data that the small path reads: spares it the detour over the GOT. */
#define HIDDEN __attribute__((visibility("hidden")))

/*
 * The one store of the process, and the size from which blocks are its.
 * threshold is SIZE_MAX until the store is open: then nothing is.
 * const after init, but 0 in a forked child that inherited kept memory, until
 * it allocates; it has one thread then.
 */
extern HIDDEN struct store store;
extern HIDDEN size_t threshold;

/* Before it is, there is no page map to ask. */
static inline bool store_is_open(void)
{
	return threshold != SIZE_MAX;
}

/*
 * Find the next library and, once there is an environment to read the settings
 * from, open the store.  Called by whatever comes first, a constructor of ours
 * or an allocation; idempotent.
 */
void preload_start(void);

/* Look up what mapping.c and clone.c pass on to. */
void mapping_start(void);
void clone_start(void);

/* The first allocation in such a child: inherited memory goes. */
void preload_child_allocates(void);

/* Around whatever copies the process. */
void preload_fork_prepare(void);
void preload_fork_parent(void);
void preload_fork_child(void);

/* Does system call @nr with first argument @a copy the process? */
bool clone_copies_process(long nr, long a);

/* After a big block was freed: now and then, tell the counters. */
void preload_tell(void);

#endif /* PRELOAD_PRELOAD_H */
