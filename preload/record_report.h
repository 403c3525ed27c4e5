/* SPDX-License-Identifier: MIT */
/* Printing the tally to DIR/PID.record; the format stands in record.c. */
#ifndef PRELOAD_RECORD_REPORT_H
#define PRELOAD_RECORD_REPORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * report_start - from the constructor and in forked children
 * Notes time and usage to count from.  @dir, @malloc_from: copied.
 */
void report_start(const char *dir, const char *malloc_from, size_t threshold,
		  uint64_t decay_ms);
void report_child(void);

/* Write the file, or write it again.  In a vfork child: nothing. */
void report_write(void);

#endif /* PRELOAD_RECORD_REPORT_H */
