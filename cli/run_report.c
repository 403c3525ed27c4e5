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
#include "sample.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static bool is_ours(const char *malloc_from)
{
	return !strcmp(text_base(malloc_from), "libquire-preload.so");
}

/* The command's own process left no record. */
static char *reason_without_record(const struct tally *t,
				   const struct program *program)
{
	const char *why =
		program_refused(program)
			? program_reason(program)
			: "the library was not loaded (its environment was "
			  "cleaned, or its loader ignores preloads)";

	if (t->nr)
		return xasprintf(
			"not applied to %s: %s; %u of its children were served",
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
		return xasprintf(
			"not applied to the end: %s became a program that quire did not "
			"reach (environment cleaned, or static)",
			*p->exe ? p->exe : program->path);
	if (!*p->malloc_from || is_ours(p->malloc_from))
		return NULL;
	if (program_refused(program))
		return xasprintf("not applied: %s: %s", program->path,
				 program_reason(program));
	return xasprintf("not applied: %s takes its malloc from %s",
			 *p->exe ? p->exe : program->path,
			 strcmp(p->malloc_from, p->exe) ? p->malloc_from
							: "its own executable");
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
		{ QUIRE_COUNTER_bytes_replaced, "to make room" },
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
	uint64_t misuse =
		c[QUIRE_COUNTER_free_twice] + c[QUIRE_COUNTER_free_foreign];

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
		    spell_bytes(
			    (double)t->counter[QUIRE_COUNTER_bytes_kept_peak])
			    .s,
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
	    spell_seconds(sample_seconds(child->usage.ru_utime)).s,
	    spell_seconds(sample_seconds(child->usage.ru_stime)).s,
	    spell_count((double)child->usage.ru_minflt +
			(double)child->usage.ru_majflt)
		    .s);
}

/*
 * The sums of counters.def.  Only one thread at rest has counters that were
 * all true at the same moment.
 */
static void check_sums(const struct tally *t)
{
	const uint64_t *c = t->counter;

	if (t->nr != 1 || !t->main.ended || t->main.threads_peak != 1)
		return;
	if (c[QUIRE_COUNTER_span_alloc] != c[QUIRE_COUNTER_span_hit] +
						   c[QUIRE_COUNTER_span_grown] +
						   c[QUIRE_COUNTER_span_fresh])
		say("counters of blocks do not add up: please report it");
	if (c[QUIRE_COUNTER_bytes_mapped] - c[QUIRE_COUNTER_bytes_unmapped] !=
		    c[QUIRE_COUNTER_bytes_live] + c[QUIRE_COUNTER_bytes_kept] +
			    c[QUIRE_COUNTER_bytes_leaving] ||
	    c[QUIRE_COUNTER_bytes_unmapped] !=
		    c[QUIRE_COUNTER_bytes_decayed] +
			    c[QUIRE_COUNTER_bytes_capped] +
			    c[QUIRE_COUNTER_bytes_replaced] +
			    c[QUIRE_COUNTER_bytes_pressed] +
			    c[QUIRE_COUNTER_bytes_trimmed] +
			    c[QUIRE_COUNTER_bytes_direct])
		say("counters of bytes do not add up: please report it");
}

void run_report_counters(const struct tally *t)
{
	struct quire_process sum;
	int len;
	char *text, *line, *save = NULL;

	tally_sum(t, &sum);
	len = quire_process_text(&sum, NULL, 0);
	if (len <= 0)
		return;
	text = xcalloc((size_t)len + 1, 1);
	quire_process_text(&sum, text, (size_t)len + 1);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		say("  %s", line);
	free(text);
	check_sums(t);
}
