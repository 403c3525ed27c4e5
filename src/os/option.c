/* SPDX-License-Identifier: MIT */
/* key=value,key=value; the last of two equal keys counts. */
#include "os/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"

/* Of all our libraries: each warns only of a key that none of them knows. */
static const char *const known[] = {
	"threshold",  "decay",	"keep",	    "reserve", "thp",
	"thread_min", "shards", "stat_dir", /* preload, record, stamp */
	"pcp",	      "drain",	"depot",    "strict", /* libquire */
};

bool option_is_known(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == len && !memcmp(known[i], name, len))
			return true;
	return false;
}

void option_each(void (*each)(const char *name, size_t name_len,
			      const char *value, size_t value_len, void *arg),
		 void *arg)
{
	const char *at = secure_getenv("QUIRE_OPTIONS");

	while (at && *at) {
		size_t len = strcspn(at, ",");
		const char *equals = memchr(at, '=', len);
		size_t name_len = equals ? (size_t)(equals - at) : len;

		if (len)
			each(at, name_len, equals ? equals + 1 : NULL,
			     equals ? len - name_len - 1 : 0, arg);
		at += len + (at[len] == ',');
	}
}

bool option_help_wanted(void)
{
	const char *text = secure_getenv("QUIRE_OPTIONS");

	return text && !strcmp(text, "help");
}

void option_say(const char *a, const char *b, size_t b_len, const char *c)
{
	char line[256];
	size_t len = 0;
	int saved = errno;
	const struct {
		const char *text;
		size_t len;
	} parts[] = { { a, strlen(a) }, { b, b_len }, { c, strlen(c) } };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t n = min_size(parts[i].len, sizeof(line) - len);

		memcpy(line + len, parts[i].text, n);
		len += n;
	}
	if (write(STDERR_FILENO, line, len) < 0)
		errno = saved; /* nobody to tell */
}

void option_unknown(const char *name, size_t len)
{
	option_say("quire: unknown key '", name, len,
		   "' in QUIRE_OPTIONS (QUIRE_OPTIONS=help lists them)\n");
}

void option_bad(const char *name, size_t name_len, size_t value_len)
{
	/* as it stands there: name=value */
	option_say("quire: bad value in QUIRE_OPTIONS: '", name,
		   name_len + (value_len ? value_len + 1 : 0), "'\n");
}

bool option_text(const char *key, char *buf, size_t len)
{
	const char *at = secure_getenv("QUIRE_OPTIONS");
	size_t key_len = strlen(key);
	bool found = false;

	while (at && *at) {
		size_t n = strcspn(at, ",");

		if (n > key_len && at[key_len] == '=' &&
		    !memcmp(at, key, key_len) && n - key_len - 1 < len) {
			memcpy(buf, at + key_len + 1, n - key_len - 1);
			buf[n - key_len - 1] = 0;
			found = true;
		}
		at += n + (at[n] == ',');
	}
	return found;
}

/* Digits; the rest goes to @unit.  False on no digits or overflow. */
static bool number(const char *text, uint64_t *value, const char **unit)
{
	const char *at = text;

	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*at - '0'),
					   value))
			return false;
	*unit = at;
	return at != text;
}

bool option_parse_bytes(const char *text, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *unit, *found;
	uint64_t value;
	unsigned int shift = 0;

	if (!number(text, &value, &unit))
		return false;
	if (*unit) {
		found = strchr(units, *unit & ~0x20);
		if (!found || unit[1])
			return false;
		shift = 10 * (unsigned int)(found - units + 1);
	}
	if (value > UINT64_MAX >> shift)
		return false;
	*out = value << shift;
	return true;
}

bool option_parse_ms(const char *text, uint64_t *out)
{
	const char *unit;
	uint64_t value;

	if (!number(text, &value, &unit))
		return false;
	if (!strcmp(unit, "s"))
		return !__builtin_mul_overflow(value, 1000, out);
	if (*unit && strcmp(unit, "ms"))
		return false;
	*out = value;
	return true;
}

uint64_t option_bytes(const char *key, uint64_t otherwise)
{
	char text[32];
	uint64_t value;

	if (!option_text(key, text, sizeof(text)) ||
	    !option_parse_bytes(text, &value))
		return otherwise;
	return value;
}

uint64_t option_ms(const char *key, uint64_t otherwise)
{
	char text[32];
	uint64_t value;

	if (!option_text(key, text, sizeof(text)) ||
	    !option_parse_ms(text, &value))
		return otherwise;
	return value;
}
