/* SPDX-License-Identifier: MIT */
/*
 * The operating system, as a table.
 *
 * This folder is the only one that makes system calls.  Everything above asks
 * `os->…`, so that tests can put another system underneath:
 *
 *	kernel	Linux
 *	faulty	Linux, but the n-th call fails (os/faulty.h)
 *	sim	Linux memory, but a clock and files that a test sets (os/sim.h)
 *
 * The table stands at cold boundaries only: a block that is served from kept
 * memory makes no call through it except now_ms, which reads the vDSO.
 *
 * Contract of all entries: 0 or a count on success, a negative errno on
 * failure; errno is left as it was; callable with signals in any state; not
 * async-signal-safe unless said so; safe in a forked child.
 */
#ifndef OS_OS_H
#define OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum os_advice {
	OS_DISCARD, /* give the pages back now; they read as zeros */
	OS_HUGE,    /* huge pages wanted */
	OS_NO_HUGE,
	OS_POPULATE, /* fault in for writing, report instead of SIGBUS */
	OS_NO_DUMP,  /* leave out of core dumps */
	OS_NO_FORK,  /* a forked child does not have it */
};

enum os_backing {
	OS_LAZY,    /* pages when they are touched; not charged before */
	OS_HUGETLB, /* huge pages, set aside in the machine's pool now */
};

enum os_policy {
	OS_INTERLEAVE,
	OS_BIND,
};

/* A set of memory nodes: bit n of word n / 64. */
struct os_nodes {
	const uint64_t *bits;
	size_t nr; /* bits that are valid */
};

/* The caller's memory, kept until the join: what it is about is os's own. */
struct os_thread {
	unsigned long id;
	int tid;
	char name[16];
	void (*body)(void *);
	void *arg;
};

struct os_ops {
	const char *name;

	/*
	 * Fresh private zeroed memory.  @align: power of two, at least a page.
	 * Exactly @len bytes stay mapped, whatever @align is.
	 */
	int (*map)(size_t len, size_t align, void **out);
	/* The same with a backing of another kind. */
	int (*map_backed)(size_t len, size_t align, enum os_backing backing,
			  void **out);
	/* Address space without memory behind it, to move pages onto. */
	int (*reserve)(size_t len, size_t align, void **out);
	int (*unmap)(void *addr, size_t len);
	int (*advise)(void *addr, size_t len, enum os_advice advice);
	/* Where pages of the range will come from; moves none that are there.
	 */
	int (*place)(void *addr, size_t len, enum os_policy policy,
		     const struct os_nodes *nodes);
	/* One byte for each page; bit 0: there is memory behind it. */
	int (*resident)(void *addr, size_t len, unsigned char *pages);
	/*
	 * Move the pages of [old, old_len) to @dst, which must be a reserve of
	 * at least @new_len bytes (it is replaced), and give the new place
	 * @new_len bytes; the rest is fresh.  The old addresses are unmapped.
	 * On failure nothing has moved and @dst is still the reserve.
	 */
	int (*move)(void *old, size_t old_len, void *dst, size_t new_len);

	/* Milliseconds of a monotonic clock; cheap, coarse (1 to 4 ms). */
	uint64_t (*now_ms)(void);

	/*
	 * Read a small file whole, at most @len - 1 bytes; closes it with 0.
	 * Returns the bytes read.  Keeps no descriptor.
	 */
	long (*read_file)(const char *path, char *buf, size_t len);

	/*
	 * Create (mode 0600, never through a symbolic link) or re-use the file
	 * @path, make it @len bytes and map it shared.  Keeps no descriptor.
	 */
	int (*share)(const char *path, size_t len, void **out);

	/*
	 * A helper thread named @name, with all signals blocked.  join waits
	 * until it has ended and the kernel no longer counts it.
	 */
	int (*thread_start)(const char *name, void (*body)(void *), void *arg,
			    struct os_thread *thread);
	void (*thread_join)(struct os_thread *thread);

	/* This thread runs only when nobody else wants to; for good. */
	int (*background)(void);
	/* Nanoseconds that this thread has run. */
	uint64_t (*thread_ns)(void);
	/* Call these around every fork from now on; any may be called twice. */
	int (*at_fork)(void (*prepare)(void), void (*parent)(void),
		       void (*child)(void));

	/* CPUs that this thread may run on, at least 1. */
	unsigned int (*nr_cpus)(void);

	/*
	 * Restartable sequences (rseq).  rseq_offset: where a thread's area
	 * is, seen from its thread pointer; -ENOSYS where threads have none.
	 * restart_register: once, before the first restart_others.
	 * restart_others: sequences of other threads that are under way on
	 * @cpu (negative: on any) when this is called will not commit after it
	 * has returned, and those that begin later see what was stored before.
	 */
	int (*rseq_offset)(ptrdiff_t *out);
	int (*restart_register)(void);
	int (*restart_others)(int cpu);

	/*
	 * Sleep while *word == expected, at most @timeout_ms (UINT64_MAX: for
	 * ever); wake all who sleep on @word.
	 */
	void (*wait)(uint32_t *word, uint32_t expected, uint64_t timeout_ms);
	void (*wake)(uint32_t *word);
};

/* const after init, except in tests */
extern const struct os_ops *os;
extern const struct os_ops os_kernel;

/* A page of this machine: 4096 wherever quire runs (checked at start). */
#define PAGE_SHIFT 12
#define PAGE_SIZE  ((size_t)1 << PAGE_SHIFT)
/* What the kernel calls a PMD: one huge page. */
#define HUGE_SHIFT 21
#define HUGE_SIZE  ((size_t)1 << HUGE_SHIFT)

#endif /* OS_OS_H */
