/* SPDX-License-Identifier: MIT */
/*
 * The zone that the bodies `pages…` of `quire bench page_fault1` use: one for
 * all threads of a process.
 */
#ifndef QUIRE_CLI_BENCH_PAGES_H
#define QUIRE_CLI_BENCH_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pages_is_body - "pages", "pages-single" … "pages-prefetch-aged" */
bool pages_is_body(const char *name);

/*
 * pages_open - for @tasks tasks, each with @nr pages at a time
 * Of 1 GiB, or of more if the tasks need it; memory is behind what is free
 * first.  Aged: a random half of it is out.
 * Returns 0 or a positive errno.
 */
int pages_open(const char *body, unsigned int tasks, size_t nr);

/* pages_take / pages_give - by any thread; 0 or a positive errno */
int pages_take(void **page, size_t nr);
int pages_give(void **page, size_t nr);

/* What the locks of the free lists saw since pages_open(). */
struct pages_locks {
	uint64_t takes, contended, hold_cycles;
};
void pages_locks(struct pages_locks *out);

/* pages_close - EBADMSG: pages were lost */
int pages_close(void);

#endif /* QUIRE_CLI_BENCH_PAGES_H */
