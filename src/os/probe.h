/* SPDX-License-Identifier: MIT */
/*
 * Harmless questions to the kernel, for the doctor.
 *
 * Nothing asked here changes the process: what is mapped, opened or registered
 * to see whether it can be is undone before the function returns.  Calls that
 * quire itself makes are tried through the table of os.h, all others directly.
 * Not for the inside of malloc.  Thread-safe, errno is left alone.
 *
 * An `int` that is 0 or a negative errno says whether the call works.
 */
#ifndef OS_PROBE_H
#define OS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum os_rseq_owner {
	OS_RSEQ_MISSING, /* the kernel has none, or a filter refuses */
	OS_RSEQ_NOBODY,	 /* could be registered, is not */
	OS_RSEQ_GLIBC,
	OS_RSEQ_OTHER, /* registered, but not by glibc */
};

struct os_rseq {
	enum os_rseq_owner owner;
	int error;	   /* why it is missing: a negative errno */
	unsigned int size; /* of glibc's area */
	bool tunable_off;  /* GLIBC_TUNABLES switches it off */
};

struct os_memory_calls {
	int map;
	int discard;  /* madvise(MADV_DONTNEED), and zeros after */
	int huge;     /* madvise(MADV_HUGEPAGE) */
	int populate; /* madvise(MADV_POPULATE_WRITE) */
	int move;     /* mremap onto reserved addresses */
};

struct os_clock {
	bool vdso;
	uint64_t resolution_ns;
};

void os_probe_rseq(struct os_rseq *out);
int os_probe_membarrier(void); /* the commands' bits, or a negative errno */
int os_probe_mbind(void);
int os_probe_io_uring(void);
void os_probe_memory_calls(struct os_memory_calls *out);
void os_probe_clock(struct os_clock *out);
bool os_probe_secure(void); /* the loader ignores LD_PRELOAD here */
unsigned int os_probe_address_bits(void);
size_t os_probe_page_size(void);
const char *os_probe_glibc(void);
void os_probe_kernel(char *buf, size_t len); /* "6.1.0-13-amd64" */

/* A number of 2 parts, "6.1…", is at least @major.@minor. */
bool os_version_at_least(const char *text, unsigned int major,
			 unsigned int minor);

enum os_rlimit {
	OS_RLIMIT_AS,
	OS_RLIMIT_DATA,
	OS_RLIMIT_MEMLOCK,
};

/* The soft limit in bytes; UINT64_MAX: none. */
uint64_t os_probe_rlimit(enum os_rlimit which);

/* Small files of one value, and of "NAME: value" lines. */

/* The first line, without its end: its length, or a negative errno. */
int os_file_line(const char *path, char *buf, size_t len);
/* The word in brackets, or the whole line where there is none. */
int os_file_choice(const char *path, char *buf, size_t len);
int os_file_number(const char *path, uint64_t *out);
/* The number after @name ("MemTotal:"), in whatever unit it stands. */
int os_file_field(const char *path, const char *name, uint64_t *out);
/* Lines of a file of any size, or a negative errno. */
long os_file_lines(const char *path);

#endif /* OS_PROBE_H */
