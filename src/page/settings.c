/* SPDX-License-Identifier: MIT */
/*
 * QUIRE_OPTIONS for zones: what the environment says where a zone leaves an
 * option at its default.  An option that the program set itself is the
 * program's.  Read once, when the first zone is opened; a bad value is named on
 * stderr and the default stays.
 */
#include "page/settings.h"

#include <string.h>

#include "base/bits.h"
#include "os/lock.h"
#include "os/option.h"

struct word {
	const char *text;
	uint32_t value;
};

static const struct word pcp_words[] = {
	{ "auto", QUIRE_PCP_AUTO }, { "rseq", QUIRE_PCP_RSEQ },
	{ "lock", QUIRE_PCP_LOCK }, { "mask", QUIRE_PCP_MASK },
	{ "off", QUIRE_PCP_OFF },
};
static const struct word drain_words[] = {
	{ "single", QUIRE_DRAIN_SINGLE },
	{ "pick", QUIRE_DRAIN_PICK },
	{ "pick+prefetch", QUIRE_DRAIN_PREFETCH },
};
static const struct word depot_words[] = {
	{ "on", 0 },
	{ "off", QUIRE_ZONE_NO_DEPOT },
};
static const struct word strict_words[] = {
	{ "0", 0 },
	{ "1", QUIRE_ZONE_STRICT },
};

struct settings {
	uint32_t pcp, drain, depot, strict;
	uint32_t decay_ms;
};

struct key {
	const char *name;
	const struct word *words; /* NULL: a time */
	size_t nr_words;
	size_t offset;
	const char *help;
};

#define KEY(name, help)                                                        \
	{                                                                      \
#name, name##_words, ARRAY_SIZE(name##_words),                 \
			offsetof(struct settings, name), help                  \
	}

static const struct key keys[] = {
	KEY(pcp, "how CPUs' lists of pages are protected: auto, rseq, lock, "
		 "mask, off (auto)"),
	KEY(drain, "how they are drained: single, pick, pick+prefetch "
		   "(single)"),
	KEY(depot, "batches between CPUs: on, off (on)"),
	{ "decay", NULL, 0, offsetof(struct settings, decay_ms),
	  "free memory of zones over regions is given back after this (10s)" },
	KEY(strict, "1: a wish that the system does not grant is an error "
		    "(0)"),
};

static void print_help(void)
{
	option_say("quire: keys of QUIRE_OPTIONS for zones of pages:\n", "", 0,
		   "");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		option_say("  ", keys[i].name, strlen(keys[i].name), "\t");
		option_say(keys[i].help, "", 0, "\n");
	}
}

static bool set_time(const char *text, uint32_t *field)
{
	uint64_t ms;

	if (!option_parse_ms(text, &ms) || ms >= UINT32_MAX)
		return false;
	*field = ms ? (uint32_t)ms : 1; /* 0: at once; in options: default */
	return true;
}

static bool set(const struct key *key, const char *text, uint32_t *field)
{
	if (!key->words)
		return set_time(text, field);
	for (size_t i = 0; i < key->nr_words; i++) {
		if (strcmp(text, key->words[i].text))
			continue;
		*field = key->words[i].value;
		return true;
	}
	return false;
}

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
	const struct key *key = find_key(name, name_len);
	char text[32];

	if (!key) {
		if (!option_is_known(name, name_len))
			option_unknown(name, name_len);
		return;
	}
	if (value && value_len < sizeof(text)) {
		memcpy(text, value, value_len);
		text[value_len] = 0;
		if (set(key, text, (uint32_t *)((char *)arg + key->offset)))
			return;
	}
	option_bad(name, name_len, value_len);
}

static const struct settings *settings_get(void)
{
	static struct lock lock = { .rank = RANK_ZONES };
	static struct settings settings;
	static bool read;

	lock_take(&lock);
	if (!read && option_help_wanted())
		print_help();
	else if (!read)
		option_each(read_one, &settings);
	read = true;
	lock_release(&lock);
	return &settings;
}

void settings_apply(struct quire_zone_options *options)
{
	const struct settings *settings = settings_get();

	if (options->pcp == QUIRE_PCP_AUTO)
		options->pcp = settings->pcp;
	if (options->drain == QUIRE_DRAIN_SINGLE)
		options->drain = settings->drain;
	if (!options->decay_ms && options->region)
		options->decay_ms = settings->decay_ms;
	options->flags |= settings->depot | settings->strict;
}
