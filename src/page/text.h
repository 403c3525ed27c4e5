/* SPDX-License-Identifier: MIT */
/* Text into a buffer that may be too small, as snprintf does, in parts. */
#ifndef PAGE_TEXT_H
#define PAGE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct text {
	char *buf;
	size_t len;
	size_t length; /* that the whole text has */
};

__attribute__((format(printf, 2, 3))) static inline void text_add(
	struct text *to, const char *format, ...)
{
	size_t at = to->length < to->len ? to->length : to->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to->len ? to->buf + at : NULL, to->len - at, format,
		      args);
	va_end(args);
	to->length += n > 0 ? (size_t)n : 0;
}

#endif /* PAGE_TEXT_H */
