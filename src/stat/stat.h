/* SPDX-License-Identifier: MIT */
/*
 * Names and printing of counters.  No state, no allocation, no system call.
 *
 * Both printers return the length of the whole text, whatever part of it fits
 * into @len bytes with the closing 0; @buf may be NULL when @len is 0.
 */
#ifndef STAT_STAT_H
#define STAT_STAT_H

#include <stddef.h>
#include <stdint.h>

#include <quire/stat.h>

/* NULL for a number that is not a counter. */
const struct quire_counter_info *stat_info(unsigned int nr);

int stat_text(const uint64_t *counter, char *buf, size_t len);
int stat_json(const uint64_t *counter, char *buf, size_t len);

#endif /* STAT_STAT_H */
