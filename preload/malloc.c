/* SPDX-License-Identifier: MIT */
/*
 * The malloc family.
 *
 * Requests of at least `threshold` bytes are blocks of the span store; all
 * others, and those that the store cannot serve, go to the next library, as do
 * arguments that are odd in any way, so that their errors are the next
 * library's own.  A block of ours starts on a page boundary, so a free of any
 * other address is passed on after one test.
 *
 * The small path is one compare and one jump.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "next.h"
#include "os/os.h"
#include "preload.h"

/* C23; not in the headers of older glibc */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);

static bool may_be_ours(const void *block)
{
	return ((uintptr_t)block & (PAGE_SIZE - 1)) == 0 && block;
}

/* Alloc */

/*
 * In a forked child with inherited memory the threshold is 0 until its first
 * allocation, whatever its size, so that the small path needs no test for it.
 */
static __attribute__((noinline)) bool is_big(size_t size)
{
	if (unlikely(!threshold))
		preload_child_allocates();
	return size >= threshold;
}

static __attribute__((noinline)) void *big_malloc(size_t size)
{
	void *block = NULL;

	if (is_big(size))
		block = store_alloc(&store, size, PAGE_SIZE, false);
	return likely(block) ? block : next.malloc(size);
}

EXPORT void *malloc(size_t size)
{
	if (likely(size < threshold))
		return next.malloc(size);
	return big_malloc(size);
}

EXPORT void *calloc(size_t nr, size_t size)
{
	size_t bytes;
	bool wraps = __builtin_mul_overflow(nr, size, &bytes);
	void *block = NULL;

	if (likely(!wraps && bytes < threshold))
		return next.calloc(nr, size);
	if (!wraps && is_big(bytes))
		block = store_alloc(&store, bytes, PAGE_SIZE, true);
	return likely(block) ? block : next.calloc(nr, size);
}

static void *big_aligned(size_t align, size_t size)
{
	if (size < threshold || !is_big(size) || !is_power_of_two(align))
		return NULL;
	return store_alloc(&store, size, align, false);
}

EXPORT void *memalign(size_t align, size_t size)
{
	void *block = big_aligned(align, size);

	return block ? block : next.memalign(align, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *block = big_aligned(align, size);

	if (block)
		return block;
	return next.aligned_alloc ? next.aligned_alloc(align, size)
				  : next.memalign(align, size);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	void *block = NULL;

	if (align % sizeof(void *) == 0)
		block = big_aligned(align, size);
	if (!block && next.posix_memalign)
		return next.posix_memalign(out, align, size);
	if (!block) {
		if (align % sizeof(void *) || !is_power_of_two(align))
			return EINVAL;
		int saved = errno;
		block = next.memalign(align, size);
		errno = saved;
		if (!block)
			return ENOMEM;
	}
	*out = block;
	return 0;
}

EXPORT void *valloc(size_t size)
{
	void *block = big_aligned(PAGE_SIZE, size);

	if (block)
		return block;
	return next.valloc ? next.valloc(size) : next.memalign(PAGE_SIZE, size);
}

EXPORT void *pvalloc(size_t size)
{
	void *block = big_aligned(PAGE_SIZE, size);
	size_t rounded;

	if (block)
		return block;
	if (next.pvalloc)
		return next.pvalloc(size);
	if (!round_up_checked(size, PAGE_SIZE, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return next.memalign(PAGE_SIZE, rounded);
}

/* Free */

static __attribute__((cold, noreturn)) void die(const char *what)
{
	size_t len = strlen(what);

	while (len) {
		ssize_t done = write(STDERR_FILENO, what, len);

		if (done <= 0)
			break;
		what += done;
		len -= (size_t)done;
	}
	abort();
}

/* Ours, or a page-aligned block of the next library, or NULL. */
static __attribute__((noinline)) void free_page_aligned(void *block)
{
	if (!block || !store_is_open()) {
		next.free(block);
		return;
	}
	switch (store_free(&store, block)) {
	case 0:
		preload_tell();
		break;
	case -ENOENT:
		next.free(block);
		break;
	case -EALREADY:
		die("quire: free(): this block was freed already\n");
	default:
		die("quire: free(): this address is inside a block\n");
	}
}

EXPORT void free(void *block)
{
	if (likely((uintptr_t)block & (PAGE_SIZE - 1)))
		next.free(block);
	else
		free_page_aligned(block);
}

static size_t our_size(void *block)
{
	return may_be_ours(block) && store_is_open()
		       ? store_usable(&store, block)
		       : 0;
}

EXPORT void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size)
{
	(void)align;
	(void)size;
	free(block);
}

/* Realloc */

static void *move_between(void *block, size_t old_size, void *to, size_t size)
{
	if (!to)
		return NULL;
	memcpy(to, block, min_size(old_size, size));
	free(block);
	return to;
}

/* A block of ours that becomes small leaves the store, one of ours or not. */
static void *realloc_ours(void *block, size_t old_size, size_t size)
{
	void *moved;

	if (!size) {
		free(block);
		return NULL;
	}
	if (is_big(size)) {
		moved = store_resize(&store, block, size);
		return moved ? moved
			     : move_between(block, old_size, next.malloc(size),
					    size);
	}
	moved = move_between(block, old_size, next.malloc(size), size);
	return moved ? moved : block; /* it fits where it is */
}

/* A block of the next library that becomes big moves in with us. */
static void *realloc_theirs(void *block, size_t size)
{
	void *moved;

	if (!block)
		return malloc(size);
	if (size < threshold || !is_big(size) || !next.malloc_usable_size)
		return next.realloc(block, size);
	moved = store_alloc(&store, size, PAGE_SIZE, false);
	if (!moved)
		return next.realloc(block, size);
	memcpy(moved, block, min_size(next.malloc_usable_size(block), size));
	next.free(block);
	return moved;
}

EXPORT void *realloc(void *block, size_t size)
{
	size_t old_size = our_size(block);

	return old_size ? realloc_ours(block, old_size, size)
			: realloc_theirs(block, size);
}

EXPORT void *reallocarray(void *block, size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
}

/* Questions */

EXPORT size_t malloc_usable_size(void *block)
{
	size_t size = our_size(block);

	if (size || !block)
		return size;
	return next.malloc_usable_size ? next.malloc_usable_size(block) : 0;
}

EXPORT int malloc_trim(size_t pad)
{
	int given_back = store_is_open() && store_trim(&store) > 0;

	if (next.malloc_trim && next.malloc_trim(pad))
		given_back = 1;
	return given_back;
}
