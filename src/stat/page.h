/* SPDX-License-Identifier: MIT */
/*
 * The record that a process keeps in DIR/PID, seen by those who write it.
 * The layout is private to page.c; quire_process_read is the way to read one.
 *
 * Each of our libraries (preload, stamp, record) has its own copy of this code
 * and its own mapping of the one file of the process.
 *
 * Nothing here allocates, takes a lock or changes errno; stat_page_end may be
 * called from a signal handler and from a wrapper of _exit.  Where no page was
 * opened, or opening failed, all of it does nothing.
 */
#ifndef STAT_PAGE_H
#define STAT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quire/stat.h>

#define STAT_PAGE_SIZE 4096

/*
 * stat_page_open - start the record of this process in @dir
 * @dir: copied, at most 4000 bytes
 * @loaded: QUIRE_LOADED_… of the calling library, added to those of others
 * Once per library, from its constructor.
 */
int stat_page_open(const char *dir, uint32_t loaded);

/* Paths of the objects that serve malloc; NULL leaves what is there. */
void stat_page_sources(const char *malloc_from, const char *next_from);

/*
 * stat_page_publish - the counters as they are now, and the threads
 * @counter: QUIRE_NR_COUNTERS numbers
 * Reads /proc/self/status: about 30 us, not for hot paths.
 */
void stat_page_publish(const uint64_t *counter);

/*
 * stat_page_end - this may be the last thing that the process does
 * @counter: as above, or NULL to leave them
 * May come several times (destructor, then _exit); the last one counts.  In a
 * vfork child it does nothing, because the page is the parent's.
 */
void stat_page_end(const uint64_t *counter);

/* In a forked child (pthread_atfork): leave the parent's page, make our own. */
void stat_page_child(void);

/* Unmap, forget.  For tests. */
void stat_page_close(void);

/*
 * stat_page_parse - check the bytes of a record and unpack them
 * Returns 0 or -EBADMSG; @out is written on success only.
 */
int stat_page_parse(const void *bytes, size_t len, struct quire_process *out);

/*
 * stat_page_read - the record in file @path, also while it is being written
 * Returns 0, -EBADMSG, or the errno of reading.
 */
int stat_page_read(const char *path, struct quire_process *out);

#endif /* STAT_PAGE_H */
