/* SPDX-License-Identifier: MIT */
/*
 * The keys of the preload library as options of the command line: what
 * `run`, `measure` and `env` have in common.
 */
#ifndef QUIRE_CLI_KEYS_H
#define QUIRE_CLI_KEYS_H

#include <getopt.h>

enum {
	KEYS_FIRST = 512, /* getopt values of the keys start here */
	KEYS_NR = 7,
};

struct keys {
	char *value[KEYS_NR]; /* NULL: not given */
};

/* What to put into the table of getopt_long(). */
#define KEYS_OPTIONS                                                           \
	{ "threshold", required_argument, NULL, KEYS_FIRST + 0 },              \
		{ "decay", required_argument, NULL, KEYS_FIRST + 1 },          \
		{ "keep", required_argument, NULL, KEYS_FIRST + 2 },           \
		{ "thp", required_argument, NULL, KEYS_FIRST + 3 },            \
		{ "reserve", required_argument, NULL, KEYS_FIRST + 4 },        \
		{ "thread-min", required_argument, NULL, KEYS_FIRST + 5 },     \
	{                                                                      \
		"shards", required_argument, NULL, KEYS_FIRST + 6              \
	}

/* The lines of --help for them. */
extern const char keys_help[];

/*
 * keys_take - check and note one option
 * @c: the answer of getopt_long()
 * Returns 0; 1 if @c is not one of the keys; CLI_USAGE after a message.
 */
int keys_take(struct keys *keys, int c, const char *arg, const char *verb);

/* keys_text - "threshold=1M,decay=0", "" if none was given; to be freed */
char *keys_text(const struct keys *keys);

void keys_free(struct keys *keys);

#endif /* QUIRE_CLI_KEYS_H */
