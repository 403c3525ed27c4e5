/* SPDX-License-Identifier: MIT */
/*
 * What `quire run` tells when the command has ended.
 *
 * "Served" is decided by the records alone.  A record that exists but was not
 * closed, of a process that left by exit, means that the process became
 * another program on the way which does not write records: its wrapper
 * cleaned the environment, or it is static.
 */
#include "run_report.h"
#include "cli.h"
#include "result.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static bool is_ours(const char *malloc_from)
{
	return !strcmp(text_base(malloc_from), "libquire-preload.so");
}

/* The command's own process left no record. */
static char *reason_without_record(const struct tally *t,
				   const struct program *program)
{
	const char *why = program_refused(program) ?
				  program_reason(program) :
				  "the library was not loaded (its environment was "
				  "cleaned, or its loader ignores preloads)";

	if (t->nr)
		return xasprintf("not applied to %s: %s; %u of its children were served",
				 program->path, why, t->nr);
	return xasprintf("not applied: %s: %s", program->path, why);
}

char *run_report_reason(const struct tally *t, const struct child_result *child,
			const struct program *program)
{
	const struct quire_process *p = &t->main;

	if (!t->has_main)
		return reason_without_record(t, program);
	if (!p->ended && WIFEXITED(child->status))
		return xasprintf("not applied to the end: %s became a program that quire did not "
				 "reach (environment cleaned, or static)",
				 *p->exe ? p->exe : program->path);
	if (!*p->malloc_from || is_ours(p->malloc_from))
		return NULL;
	if (program_refused(program))
		return xasprintf("not applied: %s: %s", program->path,
				 program_reason(program));
	return xasprintf("not applied: %s takes its malloc from %s",
			 *p->exe ? p->exe : program->path,
			 strcmp(p->malloc_from, p->exe) ? p->malloc_from :
							  "its own executable");
}

static void say_blocks(const uint64_t *c)
{
	uint64_t all = c[QUIRE_COUNTER_span_alloc];
	uint64_t hit = c[QUIRE_COUNTER_span_hit] + c[QUIRE_COUNTER_span_grown];

	if (!all) {
		say("no block was as big as the threshold: nothing for quire to do");
		return;
	}
	say("%s of %s big blocks re-used (%s not bought again)",
	    spell_count((double)hit).s, spell_count((double)all).s,
	    spell_bytes((double)c[QUIRE_COUNTER_bytes_reused]).s);
}

static void say_given_back(const uint64_t *c)
{
	static const struct {
		enum quire_counter nr;
		const char *why;
	} part[] = {
		{ QUIRE_COUNTER_bytes_decayed, "unused for the decay time" },
		{ QUIRE_COUNTER_bytes_capped, "over the cap" },
		{ QUIRE_COUNTER_bytes_pressed, "a limit came near" },
		{ QUIRE_COUNTER_bytes_trimmed, "asked for" },
		{ QUIRE_COUNTER_bytes_direct, "at once" },
	};
	char line[512] = "";
	size_t i, n = 0;

	if (!c[QUIRE_COUNTER_bytes_unmapped])
		return;
	for (i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (c[part[i].nr] && n < sizeof(line))
			n += (size_t)snprintf(
				line + n, sizeof(line) - n, "%s%s %s",
				n ? ", " : ": ",
				spell_bytes((double)c[part[i].nr]).s,
				part[i].why);
	say("%s given back%s",
	    spell_bytes((double)c[QUIRE_COUNTER_bytes_unmapped]).s, line);
}

static void say_refusals(const uint64_t *c)
{
	uint64_t refused = c[QUIRE_COUNTER_map_failed] +
			   c[QUIRE_COUNTER_unmap_failed] +
			   c[QUIRE_COUNTER_remap_failed];
	uint64_t misuse = c[QUIRE_COUNTER_free_twice] +
			  c[QUIRE_COUNTER_free_foreign];

	if (refused)
		say("the kernel refused %s requests for memory",
		    spell_count((double)refused).s);
	if (misuse)
		say("the program freed %s blocks wrongly (twice, or inside of one)",
		    spell_count((double)misuse).s);
}

static void say_memory(const struct tally *t)
{
	if (t->rss_peak)
		say("%u process%s; peak %s resident, %s kept; %s resident at the end",
		    t->nr, t->nr == 1 ? "" : "es",
		    spell_bytes((double)t->rss_peak).s,
		    spell_bytes((double)t->counter
					[QUIRE_COUNTER_bytes_kept_peak]).s,
		    spell_bytes((double)t->rss_end).s);
}

void run_report_text(const struct tally *t, const struct child_result *child,
		     bool served)
{
	if (served) {
		say_blocks(t->counter);
		say_given_back(t->counter);
		say_refusals(t->counter);
		say_memory(t);
	}
	say("%s wall, %s user, %s system; %s page faults",
	    spell_seconds((double)(child->end_ns - child->start_ns) * 1e-9).s,
	    spell_seconds(seconds_of(child->usage.ru_utime)).s,
	    spell_seconds(seconds_of(child->usage.ru_stime)).s,
	    spell_count((double)child->usage.ru_minflt +
			(double)child->usage.ru_majflt).s);
}

/* All processes as one, for the functions that print counters. */
static struct quire_process sum_of(const struct tally *t)
{
	struct quire_process p = t->main;

	p.size = sizeof(p);
	memcpy(p.counter, t->counter, sizeof(p.counter));
	return p;
}

void run_report_counters(const struct tally *t)
{
	struct quire_process sum = sum_of(t);
	int len = quire_process_text(&sum, NULL, 0);
	char *text, *line, *save = NULL;

	if (len <= 0)
		return;
	text = xcalloc((size_t)len + 1, 1);
	quire_process_text(&sum, text, (size_t)len + 1);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		say("  %s", line);
	free(text);
}

static void add_row(struct result *r, const char *metric, const char *unit,
		    double value)
{
	struct result_key key = { "run", "quire", metric, unit, "lower" };

	result_row(r, &key, &value, 1);
}

static void add_rows(struct result *r, const struct tally *t,
		     const struct child_result *child)
{
	const struct rusage *u = &child->usage;

	add_row(r, "wall", "s", (double)(child->end_ns - child->start_ns) * 1e-9);
	add_row(r, "user", "s", seconds_of(u->ru_utime));
	add_row(r, "system", "s", seconds_of(u->ru_stime));
	add_row(r, "faults", "faults",
		(double)u->ru_minflt + (double)u->ru_majflt);
	add_row(r, "peak_rss", "bytes", t->nr ? (double)t->rss_peak : NAN);
	add_row(r, "end_rss", "bytes", t->nr ? (double)t->rss_end : NAN);
}

int run_report_json(FILE *f, const struct command *command,
		    const struct tally *t, const struct child_result *child)
{
	struct quire_process sum = sum_of(t);
	char *reason = run_report_reason(t, child, &command->program);
	struct machine machine;
	struct result *r;
	int rc;

	machine_look(&machine);
	r = result_new(&machine);
	result_words(r, "command", command->argv);
	result_number(r, "exit_code", child_exit_code(child->status));
	result_number(r, "nr_processes", t->nr);
	if (reason)
		result_note(r, "no_effect", "quire", reason);
	if (t->nr)
		result_process(r, &sum);
	add_rows(r, t, child);
	errno = 0;
	rc = result_write(r, f);
	if (fclose(f) && !rc)
		rc = -errno;
	result_free(r);
	free(reason);
	return rc;
}
