/* SPDX-License-Identifier: MIT */
/*
 * quire doctor: what works on this machine, and which fallback is in force.
 *
 * The library looks and words it; this file only lays it out, as a table for
 * people or as JSON.  All facts are collected first, because the width of a
 * column depends on every line.
 */
#include "cli.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(HAVE_JANSSON) && HAVE_JANSSON
#include <jansson.h>
#endif

#include <quire/quire.h>

#include "machine.h"
#include "text.h"

/* Longer values push their effect to the right instead of all effects. */
#define VALUE_WIDTH_MAX 44

struct line {
	char *name, *value, *effect;
	enum quire_fact_state state;
};

struct lines {
	struct line *line;
	size_t nr;
	size_t name_width, value_width;
	bool broken;
};

static const char usage[] =
	"usage: quire doctor [--json] [-q]\n"
	"Say what works on this machine and which fallback is in force.\n"
	"\n"
	"      --json    one JSON object on standard output\n"
	"  -q, --quiet   only what is missing or broken\n"
	"  -h, --help    this text\n"
	"\n"
	"Exits 1 only if something is broken.\n";

static int add_line(const struct quire_fact *fact, void *arg)
{
	struct lines *all = arg;
	size_t name = strlen(fact->name), value = strlen(fact->value);

	all->line = xrealloc(all->line, all->nr + 1, sizeof(*all->line));
	all->line[all->nr++] = (struct line){
		.name = xstrdup(fact->name),
		.value = xstrdup(fact->value),
		.effect = xstrdup(fact->effect),
		.state = fact->state,
	};
	if (name > all->name_width)
		all->name_width = name;
	if (value > all->value_width && value <= VALUE_WIDTH_MAX)
		all->value_width = value;
	all->broken |= fact->state == QUIRE_FACT_BROKEN;
	return 0;
}

static void free_lines(struct lines *all)
{
	for (size_t i = 0; i < all->nr; i++) {
		free(all->line[i].name);
		free(all->line[i].value);
		free(all->line[i].effect);
	}
	free(all->line);
}

static bool is_wanted(const struct line *line, bool quiet)
{
	return !quiet || line->state == QUIRE_FACT_FALLBACK ||
	       line->state == QUIRE_FACT_BROKEN;
}

/* The table */

static const struct {
	const char *mark, *colour, *word;
} states[] = {
	[QUIRE_FACT_GOOD] = { "+", "\033[32m", "good" },
	[QUIRE_FACT_FALLBACK] = { "~", "\033[33m", "fallback" },
	[QUIRE_FACT_INFO] = { " ", "", "info" },
	[QUIRE_FACT_BROKEN] = { "!", "\033[1;31m", "broken" },
};

static bool wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && !strcmp(term, "dumb"));
}

static void print_line(const struct lines *all, const struct line *line,
		       bool colour)
{
	const char *paint = states[line->state].colour;

	if (!colour || !*paint)
		printf("%s ", states[line->state].mark);
	else
		printf("%s%s\033[0m ", paint, states[line->state].mark);
	printf("%-*s  %-*s  %s\n", (int)all->name_width, line->name,
	       (int)all->value_width, line->value, line->effect);
}

static void print_table(const struct lines *all, bool quiet)
{
	bool colour = wants_colour();

	for (size_t i = 0; i < all->nr; i++)
		if (is_wanted(&all->line[i], quiet))
			print_line(all, &all->line[i], colour);
	if (!quiet)
		puts("\n+ works   ~ missing, fallback in force   ! broken");
}

/* JSON */

#if defined(HAVE_JANSSON) && HAVE_JANSSON

/* A folder's name may be any bytes; JSON wants UTF-8. */
static json_t *text_json(const char *text)
{
	json_t *json = json_string(text);
	char *plain;

	if (json)
		return json;
	plain = xstrdup(text);
	for (char *c = plain; *c; c++)
		if (*c & 0x80)
			*c = '?';
	json = json_string(plain);
	free(plain);
	return json;
}

/* The same members as in the results of the other verbs. */
static json_t *machine_json(void)
{
	struct machine m;
	json_t *json = json_object();

	machine_look(&m);
	json_object_set_new(json, "cpu", text_json(m.cpu));
	json_object_set_new(json, "cpus", json_integer(m.cpus));
	json_object_set_new(json, "memory_bytes",
			    json_integer((json_int_t)m.memory_bytes));
	json_object_set_new(json, "kernel", text_json(m.kernel));
	json_object_set_new(json, "libc", text_json(m.libc));
	json_object_set_new(json, "thp", text_json(m.thp));
	json_object_set_new(json, "quire", text_json(quire_version()));
	return json;
}

static json_t *facts_json(const struct lines *all, bool quiet)
{
	json_t *facts = json_array();

	for (size_t i = 0; i < all->nr; i++) {
		const struct line *line = &all->line[i];

		if (!is_wanted(line, quiet))
			continue;
		json_array_append_new(
			facts, json_pack("{s:o, s:o, s:o, s:s}", "name",
					 text_json(line->name), "value",
					 text_json(line->value), "effect",
					 text_json(line->effect), "state",
					 states[line->state].word));
	}
	return facts;
}

static int print_json(const struct lines *all, bool quiet)
{
	json_t *root =
		json_pack("{s:i, s:o, s:o}", "schema", 1, "machine",
			  machine_json(), "facts", facts_json(all, quiet));
	int error = root ? json_dumpf(root, stdout, JSON_INDENT(1)) : -1;

	json_decref(root);
	putchar('\n');
	return error ? CLI_OWN : CLI_OK;
}

static bool can_json(void)
{
	return true;
}

#else

static int print_json(const struct lines *all, bool quiet)
{
	(void)all;
	(void)quiet;
	return CLI_OWN;
}

static bool can_json(void)
{
	return false;
}

#endif

struct options {
	bool json, quiet, help;
};

static int parse(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, "+:qh", longs, NULL)) != -1) {
		if (c == 'j')
			out->json = true;
		else if (c == 'q')
			out->quiet = true;
		else if (c == 'h')
			out->help = true;
		else
			return usage_option(argv, c);
	}
	if (optind < argc)
		return usage_error("doctor: what is \"%s\"? It takes no "
				   "arguments",
				   argv[optind]);
	if (out->json && !can_json())
		return usage_error("doctor: --json: this quire was built "
				   "without jansson");
	return CLI_OK;
}

int cmd_doctor(int argc, char **argv)
{
	struct options options = { 0 };
	struct lines all = { 0 };
	int code = parse(argc, argv, &options);

	if (code != CLI_OK)
		return code;
	if (options.help) {
		fputs(usage, stdout);
		return CLI_OK;
	}
	quire_doctor_each(add_line, &all);
	if (options.json)
		code = print_json(&all, options.quiet);
	else
		print_table(&all, options.quiet);
	if (code == CLI_OK && all.broken)
		code = 1;
	free_lines(&all);
	if (fflush(stdout) || ferror(stdout)) {
		say("doctor: cannot write the report");
		return CLI_OWN;
	}
	return code;
}
