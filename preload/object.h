/* SPDX-License-Identifier: MIT */
/*
 * Which loaded object an address lies in, and what it is called there.
 * Takes no lock, allocates nothing: also in forked children and in _exit.
 */
#ifndef PRELOAD_OBJECT_H
#define PRELOAD_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct object_place {
	const char *path;   /* "" is the executable */
	uintptr_t base;	    /* address minus this is the offset to print */
	const char *symbol; /* NULL: in no function with a dynamic symbol */
	uintptr_t symbol_at;
};

/* Path only.  NULL: in no object. */
const char *object_path(const void *address);

/* All of it; 0, or -1: in no object. */
int object_find(const void *address, struct object_place *out);

/*
 * object_defining - path of the first loaded object that defines function @name
 * NULL: none.  In the order in which the loader searches for the program.
 */
const char *object_defining(const char *name);

#endif /* PRELOAD_OBJECT_H */
