/* SPDX-License-Identifier: MIT */
/*
 * What this process is, and the one thing that tells a forked child from a
 * vforked one.
 *
 * These do not go through the table of os.h: no test needs another answer, and
 * they are called from the wrappers of _exit, where less is better.  All leave
 * errno alone, allocate nothing and may be called from signal handlers.
 */
#ifndef OS_SELF_H
#define OS_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t self_pid(void);
uint32_t self_parent(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t self_now_ns(void);

/* The executable; cut to fit, always closed with 0; "" when unknown. */
void self_exe(char *buf, size_t len);

/*
 * A number that every library loaded into this process image computes alike,
 * and that another image, also one with the same pid after exec, does not
 * share.  Not secret: safe to write to a file.
 */
uint64_t self_image(void);

/* Largest resident size in bytes, for when /proc cannot be read. */
uint64_t self_peak_rss(void);

/* ulimit -v or -d in force? */
bool self_address_space_is_limited(void);

/* Whether a file of @len bytes may be written without SIGXFSZ. */
bool self_may_write(size_t len);

/*
 * A word of 1 that reads 0 in a child with its own copy of the memory, however
 * it was made (fork, _Fork, clone), but 1 in a child that shares the memory
 * (vfork).  NULL when the kernel cannot.  One word per call, never freed.
 */
uint32_t *self_fork_word(void);

#endif /* OS_SELF_H */
