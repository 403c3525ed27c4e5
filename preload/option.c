/* SPDX-License-Identifier: MIT */
/* key=value,key=value; the last of two equal keys counts. */
#include <stdlib.h>
#include <string.h>

#include "option.h"

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
