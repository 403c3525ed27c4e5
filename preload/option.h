/* SPDX-License-Identifier: MIT */
/*
 * Single keys out of QUIRE_OPTIONS, for the small libraries: stamp and record
 * understand a few keys and pass over all others in silence.  Nothing is read
 * in a set-uid program.
 */
#ifndef PRELOAD_OPTION_H
#define PRELOAD_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* PRELOAD_OPTION_H */
