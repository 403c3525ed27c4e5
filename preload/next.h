/* SPDX-License-Identifier: MIT */
/*
 * The next malloc library: what the program would have got without us.
 *
 * Everything that we do not serve goes there, and only there: it may be glibc,
 * or jemalloc, mimalloc, tcmalloc, in front of which we were loaded.  Entries
 * that the library does not have are NULL, but malloc, calloc, realloc, free
 * and memalign always lead somewhere.
 *
 * Before the library is found the entries point at functions that find it.
 * While it is being found the loader itself may allocate; that is served from
 * a small static buffer whose blocks are never freed.
 */
#ifndef PRELOAD_NEXT_H
#define PRELOAD_NEXT_H

#include <stdbool.h>
#include <stddef.h>

struct next {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	int (*malloc_trim)(size_t);
};

/* const after next_find, which any early call makes */
extern __attribute__((visibility("hidden"))) struct next next;

/* Idempotent; called before the program has a second thread. */
void next_find(void);

/*
 * next_symbol - dlsym(RTLD_NEXT, @name), told apart from ourselves
 * A dlsym that another preloaded library wraps answers for that library, not
 * for us; when it says @self, the C library's own is taken.  Ask only for what
 * is there: a failing dlsym allocates and frees.
 */
void *next_symbol(const char *name, const void *self);

/* Bytes that were served from the static buffer. */
size_t next_bootstrap_bytes(void);

#endif /* PRELOAD_NEXT_H */
