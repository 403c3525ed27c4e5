/* SPDX-License-Identifier: MIT */
/*
 * QUIRE_OPTIONS, "key=value,key=value" or "help": what the libraries share.
 * Each has its own keys; the small ones, stamp and record, understand a few and
 * pass over all others in silence.  Nothing is read in a set-uid program.
 * Nothing here allocates.
 */
#ifndef OS_OPTION_H
#define OS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One after the other; @value: NULL where there is no "=". */
void option_each(void (*each)(const char *name, size_t name_len,
			      const char *value, size_t value_len, void *arg),
		 void *arg);
bool option_help_wanted(void);
/* Is it a key of any of our libraries? */
bool option_is_known(const char *name, size_t len);

/* One line on stderr: @a, @b_len bytes of @b, @c. */
void option_say(const char *a, const char *b, size_t b_len, const char *c);
void option_unknown(const char *name, size_t len);
/* @name: where it stands in the text, its value behind it. */
void option_bad(const char *name, size_t name_len, size_t value_len);

/* False when @key is not there or does not fit into @len bytes. */
bool option_text(const char *key, char *buf, size_t len);

/*
 * Values: bytes with K, M or G behind (powers of 1024); milliseconds with ms or
 * s behind.  False, and *out untouched, on anything else.
 */
bool option_parse_bytes(const char *text, uint64_t *out);
bool option_parse_ms(const char *text, uint64_t *out);

/* The value of @key; @otherwise when absent or malformed. */
uint64_t option_bytes(const char *key, uint64_t otherwise);
uint64_t option_ms(const char *key, uint64_t otherwise);

#endif /* OS_OPTION_H */
