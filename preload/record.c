/* SPDX-License-Identifier: MIT */
/*
 * libquire-record.so: what a program asks of malloc, big block by big block.
 *
 * It wraps the malloc family and passes every call on to the next library
 * (RTLD_NEXT), so the program gets the blocks that it would get without us.
 * `quire measure` runs the program once under it and reads the file it leaves.
 * Without stat_dir=DIR in QUIRE_OPTIONS it only passes on.  Keys: stat_dir,
 * threshold (128K), decay (10s).
 *
 * The file DIR/PID.record, written at the end of each process (exit and _exit;
 * a process killed by a signal leaves none).  Lines of words; the first says
 * what the line is.  A reader passes over first words and keys that it does
 * not know, and does not trust a file whose last line is not `end`.  All
 * numbers are decimal, sizes are bytes, pages are 4 KiB.
 *
 *	quire-record 1
 *	process pid N parent N
 *	exe PATH			to the end of the line
 *	malloc PATH			whose malloc serves below the recorder
 *	threshold N
 *	decay_ms N			for so long a freed block can be re-used
 *	total KEY N KEY N ...
 *	class SIZE KEY N KEY N ...	at most 32, dearest first
 *	site BLOCKS BYTES REFAULTED_PAGES WHERE FRAME;FRAME;...	  at most 10
 *	end
 *
 * total: wall_us, user_us, system_us, minor_faults, major_faults since our
 *	constructor, or since the fork; small_blocks, small_bytes: below the
 *	threshold; blocks, bytes, resized, live_bytes, live_bytes_peak, reused,
 *	reused_bytes, refaulted_pages, first_pages: as for a class;
 *	page_ns: what one page costs here, bought, touched and given back,
 *	measured at the end (0 where refaulted_pages is 0);
 *	lost: blocks that did not fit into the tables.
 * class: SIZE is the most common size asked for in a class that is an eighth
 *	of a power of two wide; min, max; common_blocks: calls for exactly SIZE
 *	(a little high where there are more than 4 sizes); blocks, bytes: asked
 *	for; resized: realloc from big to big, not counted as a block; live,
 *	live_peak: blocks; reused: blocks that one freed before could have
 *	served (1 to 1.25 times the size, freed within the decay time);
 *	refaulted_pages: pages of the reused blocks that were not there when
 *	malloc returned and were when the block was freed or the process ended,
 *	that is, bought again without need; first_pages: the same for the other
 *	blocks; reuse_gap_ms_median (d.ddd): between the free and the malloc.
 * site: in order of refaulted pages, then bytes.  A FRAME, innermost first, is
 *	object:symbol+0xOFF, object+0xOFF or 0xADDRESS; blanks and semicolons
 *	in names become '?'.  WHERE is the first frame outside libc, ld.so,
 *	quire, the C++ runtime and a Python interpreter.  After 4096 blocks
 *	one in 16 is looked at and counts for 16.
 *
 * Which thread may do what: resolving happens at the first call, before there
 * are threads; all else is in record_tally.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "exit.h"
#include "object.h"
#include "os/option.h"
#include "os/self.h"
#include "record_report.h"
#include "record_tally.h"
#include "sources.h"
#include "stat/page.h"

#define EXPORT	      __attribute__((visibility("default")))
#define ALL_SITES     4096
#define SAMPLED_SITES 16
#define OUR_FRAMES    8
#define BOOTSTRAP     (64 << 10)

/* The next library.  const after resolve(). */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} next;

static enum { UNRESOLVED, RESOLVING, RESOLVED } state;

/* const after the constructor */
static size_t threshold = SIZE_MAX; /* SIZE_MAX: nothing is noted */

static uint32_t nr_seen;     /* atomic, relaxed: statistics */
static __thread bool inside; /* this thread is looking at its own stack */

/*
 * What dlsym allocates while it looks for malloc.  Each piece has its size in
 * front; nothing is ever given back.
 */
static char bootstrap[BOOTSTRAP] __attribute__((aligned(16)));
static size_t bootstrap_used;

static bool in_bootstrap(const void *ptr)
{
	return (const char *)ptr >= bootstrap &&
	       (const char *)ptr < bootstrap + BOOTSTRAP;
}

static void *bootstrap_alloc(size_t size)
{
	size_t need;
	char *at;

	if (!round_up_checked(size, 16, &need) ||
	    need > BOOTSTRAP - 16 - bootstrap_used) {
		errno = ENOMEM;
		return NULL;
	}
	at = bootstrap + bootstrap_used + 16;
	memcpy(at - 16, &size, sizeof(size));
	bootstrap_used += need + 16;
	return at;
}

static size_t bootstrap_size(const void *ptr)
{
	size_t size;

	memcpy(&size, (const char *)ptr - 16, sizeof(size));
	return size;
}

#define FIND(name) (next.name = (__typeof__(next.name))dlsym(RTLD_NEXT, #name))

__attribute__((cold, noinline)) static bool resolve(void)
{
	if (state == RESOLVING)
		return false;
	state = RESOLVING;
	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	state = RESOLVED;
	return true;
}

/* False: the next library is being looked for, by us. */
static inline bool ready(void)
{
	return likely(state == RESOLVED) || resolve();
}

/* Where this object lies, from the linker. */
extern const char image_start[] __asm__("__ehdr_start")
	__attribute__((visibility("hidden")));
extern const char image_end[] __asm__("_end")
	__attribute__((visibility("hidden")));

static bool is_ours(const void *address)
{
	return (const char *)address >= image_start &&
	       (const char *)address < image_end;
}

/* Not inlined, so that all frames of this object come first. */
__attribute__((noinline)) static void note_with_stack(void *ptr, size_t size,
						      uint32_t weight)
{
	void *frame[TALLY_FRAMES + OUR_FRAMES];
	int skip = 0;
	int nr;

	inside = true;
	nr = backtrace(frame, TALLY_FRAMES + OUR_FRAMES);
	inside = false;
	while (skip < nr && is_ours(frame[skip]))
		skip++;
	nr -= skip;
	tally_add(ptr, size, frame + skip,
		  (uint32_t)(nr < TALLY_FRAMES ? nr : TALLY_FRAMES), weight);
}

__attribute__((noinline)) static void note_big(void *ptr, size_t size)
{
	uint32_t seen = add_relaxed(&nr_seen, 1);
	int saved = errno;

	if (inside)
		tally_add(ptr, size, NULL, 0, 0);
	else if (seen < ALL_SITES)
		note_with_stack(ptr, size, 1);
	else if (seen % SAMPLED_SITES == 0)
		note_with_stack(ptr, size, SAMPLED_SITES);
	else
		tally_add(ptr, size, NULL, 0, 0);
	errno = saved;
}

static inline void *note(void *ptr, size_t size)
{
	if (likely(size < threshold)) {
		if (threshold != SIZE_MAX)
			tally_small(size);
	} else if (ptr && threshold != SIZE_MAX) {
		note_big(ptr, size);
	}
	return ptr;
}

EXPORT void *malloc(size_t size)
{
	if (!ready())
		return bootstrap_alloc(size);
	return note(next.malloc(size), size);
}

EXPORT void *calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes))
		bytes = SIZE_MAX; /* next says no */
	if (!ready())
		return bootstrap_alloc(bytes);
	return note(next.calloc(nr, size), bytes);
}

EXPORT void free(void *ptr)
{
	struct tally_block block;
	int saved = errno;

	if (!ptr || in_bootstrap(ptr) || !ready())
		return;
	if (tally_take(ptr, &block)) {
		tally_freed(&block, tally_resident(ptr, block.size));
		errno = saved;
	}
	next.free(ptr);
}

static void *leave_bootstrap(void *ptr, size_t size)
{
	size_t old = bootstrap_size(ptr);
	void *moved = malloc(size);

	if (moved)
		memcpy(moved, ptr, min_size(old, size));
	return moved;
}

/* A big block got a new size and place. */
static void settle(void *ptr, size_t size, const struct tally_block *block,
		   uint32_t resident)
{
	if (size >= threshold) {
		tally_resized(ptr, size, *block);
		return;
	}
	tally_freed(block, resident);
	tally_small(size);
}

/*
 * The block is taken out of the table before the call, because its address may
 * be somebody else's as soon as the call has moved it.
 */
static void *resize_big(void *ptr, size_t size, struct tally_block block)
{
	uint32_t resident = tally_resident(ptr, block.size);
	void *moved = next.realloc(ptr, size);
	int saved = errno;

	if (moved)
		settle(moved, size, &block, resident);
	else if (size)
		tally_put_back(ptr, block);
	else
		tally_freed(&block, resident);
	errno = saved;
	return moved;
}

EXPORT void *realloc(void *ptr, size_t size)
{
	struct tally_block block;

	if (ptr && in_bootstrap(ptr))
		return leave_bootstrap(ptr, size);
	if (!ready())
		return bootstrap_alloc(size);
	if (ptr && tally_take(ptr, &block))
		return resize_big(ptr, size, block);
	return note(next.realloc(ptr, size), size);
}

EXPORT void *reallocarray(void *ptr, size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, bytes);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	int error;

	if (!ready())
		return ENOMEM;
	error = next.posix_memalign(out, align, size);
	if (!error)
		note(*out, size);
	return error;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return ready() ? note(next.aligned_alloc(align, size), size) : NULL;
}

EXPORT void *memalign(size_t align, size_t size)
{
	return ready() ? note(next.memalign(align, size), size) : NULL;
}

EXPORT void *valloc(size_t size)
{
	return ready() ? note(next.valloc(size), size) : NULL;
}

EXPORT void *pvalloc(size_t size)
{
	return ready() ? note(next.pvalloc(size), size) : NULL;
}

static void record_end(void)
{
	report_write();
	stat_page_end(NULL);
}

/* Over fork: the lock is held, so that the child finds whole tables. */
static void record_child(void)
{
	tally_child_locked();
	tally_unlock();
	report_child();
	stat_page_child();
}

/* Whose malloc stands behind ours; the executable's path for its own. */
static const char *next_malloc_path(char *exe, size_t len)
{
	const char *path = object_path((void *)next.malloc);

	if (path && *path)
		return path;
	self_exe(exe, len);
	return path ? exe : "";
}

static void record_begin(const char *dir)
{
	char exe[1024];
	const char *behind = next_malloc_path(exe, sizeof(exe));
	uint64_t decay_ms = option_ms("decay", 10000);
	size_t wanted = option_bytes("threshold", 128 << 10);
	void *frame[2];

	/* The first backtrace loads a library; not inside malloc, then. */
	inside = true;
	backtrace(frame, 2);
	inside = false;
	tally_start(decay_ms);
	if (!stat_page_open(dir, QUIRE_LOADED_RECORD))
		note_sources((const void *)next.malloc);
	report_start(dir, behind, wanted, decay_ms);
	pthread_atfork(tally_lock, tally_unlock, record_child);
	exit_watch(record_end);
	threshold = wanted;
}

__attribute__((constructor)) static void record_start(void)
{
	int saved = errno;
	char dir[4000];

	if (ready() && option_text("stat_dir", dir, sizeof(dir)))
		record_begin(dir);
	errno = saved;
}

__attribute__((destructor)) static void record_stop(void)
{
	record_end();
}
