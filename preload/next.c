/* SPDX-License-Identifier: MIT */
/* Finding the next malloc library, and memory for the loader meanwhile. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "next.h"
#include "preload.h"

/*
 * The static buffer.  Each block stands behind its size, so that realloc can
 * copy it.  glibc needs a few hundred bytes; a block that does not fit is
 * refused, which dlsym survives.
 */
#define BOOTSTRAP_BYTES ((size_t)16 << 10)

static union {
	max_align_t align;
	char bytes[BOOTSTRAP_BYTES];
} bootstrap;

/*
 * volatile: dlsym is declared as a function that never calls back into this
 * file, so the compiler may keep these in registers over it; but it does, when
 * the loader allocates.
 */
static volatile size_t bootstrap_used;
static volatile bool finding;

size_t next_bootstrap_bytes(void)
{
	return bootstrap_used;
}

static bool in_bootstrap(const void *block)
{
	return (uintptr_t)block - (uintptr_t)bootstrap.bytes < BOOTSTRAP_BYTES;
}

static void *bootstrap_alloc(size_t size, size_t align)
{
	size_t at, total;

	if (align < sizeof(max_align_t))
		align = sizeof(max_align_t);
	at = (uintptr_t)bootstrap.bytes + bootstrap_used + sizeof(size_t);
	at = ((at + align - 1) & ~(align - 1)) - (uintptr_t)bootstrap.bytes;
	if (__builtin_add_overflow(at, size, &total) ||
	    total > BOOTSTRAP_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	bootstrap_used = total;
	memcpy(bootstrap.bytes + at - sizeof(size_t), &size, sizeof(size));
	return bootstrap.bytes + at;
}

static size_t bootstrap_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - sizeof(size), sizeof(size));
	return size;
}

/* What the entries are until the library is found. */

static void *early_malloc(size_t size)
{
	if (finding)
		return bootstrap_alloc(size, 1);
	preload_start();
	return malloc(size);
}

static void *early_calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (finding) {
		if (__builtin_mul_overflow(nr, size, &bytes)) {
			errno = ENOMEM;
			return NULL;
		}
		return bootstrap_alloc(bytes, 1); /* static, so it is zero */
	}
	preload_start();
	return calloc(nr, size);
}

static void *early_memalign(size_t align, size_t size)
{
	if (finding)
		return bootstrap_alloc(size, align);
	preload_start();
	return memalign(align, size);
}

static void early_free(void *block)
{
	if (finding || in_bootstrap(block))
		return;
	preload_start();
	free(block);
}

static void *early_realloc(void *block, size_t size)
{
	void *moved;

	if (!finding) {
		preload_start();
		return realloc(block, size);
	}
	moved = bootstrap_alloc(size, 1);
	if (moved && block)
		memcpy(moved, block, min_size(size, bootstrap_size(block)));
	return moved;
}

struct next next = {
	.malloc = early_malloc,
	.free = early_free,
	.calloc = early_calloc,
	.realloc = early_realloc,
	.memalign = early_memalign,
};

/*
 * Afterwards a block of the buffer may still come back.  It is told by its
 * address; to keep that test out of everybody's free, it is made only if the
 * buffer was used at all.
 */
static struct next found;

static void free_with_bootstrap(void *block)
{
	if (!in_bootstrap(block))
		found.free(block);
}

static void *realloc_with_bootstrap(void *block, size_t size)
{
	void *moved;

	if (!in_bootstrap(block))
		return found.realloc(block, size);
	moved = found.malloc(size);
	if (moved)
		memcpy(moved, block, min_size(size, bootstrap_size(block)));
	return moved;
}

static size_t usable_size_with_bootstrap(void *block)
{
	if (in_bootstrap(block))
		return bootstrap_size(block);
	return found.malloc_usable_size(block);
}

void *next_symbol(const char *name, const void *self)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	void *libc;

	if (symbol != self || !symbol)
		return symbol;
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	symbol = libc ? dlsym(libc, name) : NULL;
	return symbol == self ? NULL : symbol;
}

/*
 * Through memcpy, because ISO C has no cast from object to function.  Not here:
 * free_sized and free_aligned_sized, which many libraries lack and free can
 * stand for.
 */
#define FIND(name)                                                             \
	do {                                                                   \
		void *symbol = next_symbol(#name, (const void *)name);         \
		memcpy(&found.name, &symbol, sizeof(symbol));                  \
	} while (0)

static void find_all(void)
{
	FIND(malloc);
	FIND(free);
	FIND(calloc);
	FIND(realloc);
	FIND(memalign);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc_usable_size);
	FIND(malloc_trim);
}

void next_find(void)
{
	struct next use;

	if (finding || next.malloc != early_malloc)
		return;
	finding = true;
	find_all();
	finding = false;
	use = found;
	if (bootstrap_used) {
		use.free = free_with_bootstrap;
		use.realloc = realloc_with_bootstrap;
		if (found.malloc_usable_size)
			use.malloc_usable_size = usable_size_with_bootstrap;
	}
	next = use;
}
