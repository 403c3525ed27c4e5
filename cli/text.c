/* SPDX-License-Identifier: MIT */
/*
 * Strings and memory that end the command when there is none, and how sizes,
 * counts and times are spelled.
 *
 * A command line tool has nothing useful to do without a hundred bytes of
 * memory; ending in one place keeps the callers readable.
 */
#include "text.h"
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_end(void *p)
{
	if (!p) {
		say("out of memory");
		exit(CLI_OWN);
	}
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return or_end(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	return or_end(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return or_end(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return or_end(n < 0 ? NULL : s);
}

struct spelled spell_bytes(double bytes)
{
	static const char *const unit[] = { "B",   "KiB", "MiB",
					    "GiB", "TiB", "PiB" };
	struct spelled out;
	size_t u = 0;

	while (fabs(bytes) >= 1023.5 && u + 1 < sizeof(unit) / sizeof(*unit)) {
		bytes /= 1024;
		u++;
	}
	snprintf(out.s, sizeof(out.s), "%.*f %s",
		 u && fabs(bytes) < 9.95 ? 1 : 0, bytes, unit[u]);
	return out;
}

struct spelled spell_count(double n)
{
	struct spelled out;
	char digits[24];
	size_t len, i, o = 0;

	if (!(n >= 0 && n < 1e15)) {
		snprintf(out.s, sizeof(out.s), "%.3g", n);
		return out;
	}
	snprintf(digits, sizeof(digits), "%.0f", n);
	len = strlen(digits);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out.s[o++] = ',';
		out.s[o++] = digits[i];
	}
	out.s[o] = '\0';
	return out;
}

struct spelled spell_seconds(double s)
{
	struct spelled out;

	if (fabs(s) >= 100)
		snprintf(out.s, sizeof(out.s), "%.0f s", s);
	else if (fabs(s) >= 1)
		snprintf(out.s, sizeof(out.s), "%.*f s", fabs(s) >= 10 ? 1 : 2,
			 s);
	else if (fabs(s) >= 1e-3)
		snprintf(out.s, sizeof(out.s), "%.*f ms",
			 fabs(s) >= 0.1 ? 0 : 1, s * 1e3);
	else
		snprintf(out.s, sizeof(out.s), "%.0f us", s * 1e6);
	return out;
}

int text_number(const char *s, uint64_t *out)
{
	char *end;
	uint64_t v;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoumax(s, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*out = v;
	return 0;
}

bool text_is_one_of(const char *word, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
