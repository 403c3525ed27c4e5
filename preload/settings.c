/* SPDX-License-Identifier: MIT */
/*
 * The keys, as a table.  A bad value never stops the program that is being run:
 * it is named on stderr, and the default stays.
 */
#include "settings.h"

#include <string.h>

#include "base/bits.h"
#include "os/option.h"
#include "os/os.h"

enum type {
	BYTES,
	TIME,
	NUMBER,
	THP,
	TEXT,
};

struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t min, max;
	const char *help;
};

#define AT(member) offsetof(struct settings, member)

static const struct key keys[] = {
	{ "threshold", BYTES, AT(threshold), 4096, (uint64_t)1 << 40,
	  "blocks from this size on are kept for re-use (128K)" },
	{ "decay", TIME, AT(store.decay_ms), 0, (uint64_t)24 * 3600 * 1000,
	  "kept memory that nobody used for this long is given back; 0: at once "
	  "(10s)" },
	{ "keep", BYTES, AT(store.keep_bytes), 4096, UINT64_MAX,
	  "keep at most this much (a quarter of the smallest memory limit)" },
	{ "reserve", NUMBER, AT(store.reserve_percent), 0, 100,
	  "give everything back when less than this percentage of the tightest "
	  "memory limit is left (10)" },
	{ "thp", THP, AT(store.thp), 0, 0,
	  "huge pages: auto (for 128 MiB of fresh blocks), always, never (auto)" },
	{ "thread_min", BYTES, AT(store.thread_bytes), 0, UINT64_MAX,
	  "start the helper thread when this much is kept (64M)" },
	{ "shards", NUMBER, AT(store.nr_shards), 1, MAX_SHARDS,
	  "parts that threads are spread over (twice the CPUs)" },
	{ "stat_dir", TEXT, AT(stat_dir), 0, 0,
	  "keep a record of each process in this directory" },
};

static void print_help(void)
{
	option_say("quire: keys of QUIRE_OPTIONS, as key=value,key=value:\n",
		   "", 0, "");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		option_say("  ", keys[i].name, strlen(keys[i].name), "\t");
		option_say(keys[i].help, "", 0, "\n");
	}
}

static bool parse_thp(const char *text, enum thp_policy *out)
{
	static const char *const names[] = {
		[THP_AUTO] = "auto",
		[THP_ALWAYS] = "always",
		[THP_NEVER] = "never",
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			*out = (enum thp_policy)i;
			return true;
		}
	}
	return false;
}

static bool set_number(const struct key *key, const char *text, void *field)
{
	uint64_t value;
	bool ok = key->type == TIME ? option_parse_ms(text, &value)
				    : option_parse_bytes(text, &value);

	if (!ok || value < key->min || value > key->max)
		return false;
	if (key->type == NUMBER)
		*(unsigned int *)field = (unsigned int)value;
	else
		*(uint64_t *)field = value;
	return true;
}

static bool set(struct settings *settings, const struct key *key,
		const char *text)
{
	void *field = (char *)settings + key->offset;

	if (key->type == THP)
		return parse_thp(text, field);
	if (key->type != TEXT)
		return set_number(key, text, field);
	strcpy(field, text); /* one option fits: see MAX_TEXT */
	return true;
}

#define MAX_TEXT sizeof(((struct settings *)0)->stat_dir)

static const struct key *find_key(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].name) == len &&
		    !memcmp(keys[i].name, name, len))
			return &keys[i];
	return NULL;
}

static void read_one(const char *name, size_t name_len, const char *value,
		     size_t value_len, void *arg)
{
	char text[MAX_TEXT];
	const struct key *key = find_key(name, name_len);

	if (!key) {
		if (!option_is_known(name, name_len))
			option_unknown(name, name_len);
		return;
	}
	if (value && value_len < sizeof(text)) {
		memcpy(text, value, value_len);
		text[value_len] = 0;
		if (set(arg, key, text))
			return;
	}
	option_bad(name, name_len, value_len);
}

void settings_read(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->threshold = (size_t)128 << 10;
	store_options_default(&settings->store);
	if (option_help_wanted())
		print_help();
	else
		option_each(read_one, settings);
}
