/* SPDX-License-Identifier: MIT */
/*
 * The list of counters as data, and as text.
 *
 * The text is put together by hand: the preload library prints counters from
 * inside malloc, where stdio may allocate, and numbers must not follow the
 * program's locale.
 */
#include <string.h>

#include "stat/stat.h"

#define COUNTER(name, unit, kind, help)                                        \
	[QUIRE_COUNTER_##name] = { #name, #unit, help, QUIRE_KIND_##kind },
static const struct quire_counter_info infos[QUIRE_NR_COUNTERS] = {
#include <quire/counters.def>
};
#undef COUNTER

const struct quire_counter_info *stat_info(unsigned int nr)
{
	return nr < QUIRE_NR_COUNTERS ? &infos[nr] : NULL;
}

/* What has been printed so far; `length` goes on counting when it is full. */
struct printer {
	char *buf;
	size_t len;
	size_t length;
};

static void put_char(struct printer *to, char c)
{
	if (to->length + 1 < to->len)
		to->buf[to->length] = c;
	to->length++;
}

static void put_text(struct printer *to, const char *text)
{
	while (*text)
		put_char(to, *text++);
}

static void put_number(struct printer *to, uint64_t value)
{
	char digits[21];
	size_t at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_text(to, digits + at);
}

static int put_end(struct printer *to)
{
	if (to->len)
		to->buf[to->length < to->len ? to->length : to->len - 1] = 0;
	return (int)to->length;
}

int stat_text(const uint64_t *counter, char *buf, size_t len)
{
	struct printer to = { buf, len, 0 };

	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++) {
		if (!counter[i])
			continue;
		put_text(&to, infos[i].name);
		put_char(&to, ' ');
		put_number(&to, counter[i]);
		put_char(&to, ' ');
		put_text(&to, infos[i].unit);
		put_char(&to, '\n');
	}
	return put_end(&to);
}

int stat_json(const uint64_t *counter, char *buf, size_t len)
{
	struct printer to = { buf, len, 0 };

	put_char(&to, '{');
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++) {
		put_text(&to, i ? ",\"" : "\"");
		put_text(&to, infos[i].name);
		put_text(&to, "\":");
		put_number(&to, counter[i]);
	}
	put_char(&to, '}');
	return put_end(&to);
}
