/* SPDX-License-Identifier: MIT */
/*
 * The keys of the preload library as options.
 *
 * The library warns about a value that it cannot read and goes on with its
 * default: it must not end someone's program.  Here the user is watching, so
 * a bad value is refused before anything runs.
 */
#include "keys.h"
#include "cli.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char keys_help[] =
	"  --threshold SIZE   serve blocks of at least SIZE (128K)\n"
	"  --decay TIME       give back what nobody used for TIME (10s; 0: at once)\n"
	"  --keep SIZE        keep at most SIZE (a quarter of the memory limit)\n"
	"  --thp MODE         huge pages: auto, always or never (auto)\n"
	"  --reserve PERCENT  give back when less than that of the memory limit is left (10)\n"
	"  --thread-min SIZE  start the helper thread above SIZE kept (64M)\n"
	"  --shards N         parts that threads are spread over (twice the CPUs)\n";

enum { KEYS_PAGE = 4096 };

/* A size: digits and at most one of K, M, G. */
static bool read_size(const char *s, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoumax(s, &end, 10);
	if (errno || v > UINT64_MAX >> 30)
		return false;
	*out = v;
	if (!*end)
		return true;
	unit = strchr(units, toupper((unsigned char)*end));
	if (!unit || end[1])
		return false;
	*out = v << (10 * (unit - units + 1));
	return true;
}

static bool good_size(const char *s)
{
	uint64_t v;

	return read_size(s, &v);
}

static bool good_size_of_pages(const char *s)
{
	uint64_t v;

	return read_size(s, &v) && v >= KEYS_PAGE;
}

static bool good_threshold(const char *s)
{
	uint64_t v;

	return read_size(s, &v) && v >= KEYS_PAGE && v <= (uint64_t)1 << 40;
}

/* A time: digits, ms unless `s` follows; a day at most. */
static bool good_time(const char *s)
{
	uint64_t v, day = 24 * 3600;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoumax(s, &end, 10);
	if (errno)
		return false;
	if (!strcmp(end, "s"))
		return v <= day;
	return (!*end || !strcmp(end, "ms")) && v <= day * 1000;
}

static bool good_thp(const char *s)
{
	static const char *const modes[] = { "auto", "always", "never" };

	return text_is_one_of(s, modes, 3);
}

static bool good_percent(const char *s)
{
	uint64_t n;

	return text_number(s, &n) == 0 && n <= 100;
}

static bool good_count(const char *s)
{
	uint64_t n;

	return text_number(s, &n) == 0 && n >= 1 && n <= 16;
}

static const struct {
	const char *option;
	const char *key;
	bool (*good)(const char *s);
	const char *wanted;
} keys_table[KEYS_NR] = {
	{ "threshold", "threshold", good_threshold,
	  "a size from 4K to 1024G (such as 128K or 2M)" },
	{ "decay", "decay", good_time, "a time such as 10s or 500ms" },
	{ "keep", "keep", good_size_of_pages,
	  "a size of 4K or more (such as 512M)" },
	{ "thp", "thp", good_thp, "auto, always or never" },
	{ "reserve", "reserve", good_percent, "a percentage from 0 to 100" },
	{ "thread-min", "thread_min", good_size, "a size such as 64M" },
	{ "shards", "shards", good_count, "a number from 1 to 16" },
};

int keys_take(struct keys *keys, int c, const char *arg, const char *verb)
{
	int i = c - KEYS_FIRST;

	if (i < 0 || i >= KEYS_NR)
		return 1;
	if (!keys_table[i].good(arg))
		return usage_error("%s: --%s '%s' is not %s", verb,
				   keys_table[i].option, arg,
				   keys_table[i].wanted);
	free(keys->value[i]);
	keys->value[i] = xstrdup(arg);
	return 0;
}

char *keys_text(const struct keys *keys)
{
	char *text = xstrdup("");
	char *longer;
	int i;

	for (i = 0; i < KEYS_NR; i++) {
		if (!keys->value[i])
			continue;
		longer = xasprintf("%s%s%s=%s", text, *text ? "," : "",
				   keys_table[i].key, keys->value[i]);
		free(text);
		text = longer;
	}
	return text;
}

void keys_free(struct keys *keys)
{
	int i;

	for (i = 0; i < KEYS_NR; i++)
		free(keys->value[i]);
	memset(keys, 0, sizeof(*keys));
}
