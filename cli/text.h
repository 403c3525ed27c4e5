/* SPDX-License-Identifier: MIT */
/*
 * Strings and memory for a command that ends when there is none, and the
 * spelling of sizes, counts and times for people.
 */
#ifndef QUIRE_CLI_TEXT_H
#define QUIRE_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These never return NULL: without memory they say so and exit. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The buffer that one spelled value needs at most. */
struct spelled {
	char s[32];
};

struct spelled spell_bytes(double bytes); /* 96 MiB, 1.2 GiB */
struct spelled spell_count(double n);	  /* 12,345 */
struct spelled spell_seconds(double s);	  /* 1.234 s, 12.3 ms, 350 us */

/*
 * text_number - read a whole unsigned decimal number
 * Returns 0, or -EINVAL for anything else (sign, space, tail) and -ERANGE.
 */
int text_number(const char *s, uint64_t *out);

/* text_is_one_of - is @word in the list of @n strings? */
bool text_is_one_of(const char *word, const char *const *list, size_t n);

/* text_base - the part of a path after its last slash */
const char *text_base(const char *path);

#endif /* QUIRE_CLI_TEXT_H */
