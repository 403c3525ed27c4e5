/* SPDX-License-Identifier: MIT */
/*
 * The result of `quire measure` as JSON: every sample of every row that ran,
 * and why the others did not.
 */
#include "measure_result.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

static void add_samples(struct result *r, const struct row *row)
{
	int k;

	for (k = 0; k < NR_METRICS; k++) {
		struct result_key key = { "measure", row->name,
					  metric_info[k].name,
					  metric_info[k].unit, "lower" };

		result_row(r, &key, row->samples[k], row->nr);
	}
}

static void add_exit(struct result *r, const struct row *row)
{
	char text[80];

	snprintf(text, sizeof(text),
		 "%d, otherwise %u times, timed out %u times", row->exit_code,
		 row->nr_strange, row->nr_timed_out);
	result_note(r, "exit_codes", row->name, text);
}

static void add_rows(struct result *r, const struct rows *rows)
{
	int i;

	for (i = 0; i < NR_ROWS; i++) {
		const struct row *row = &rows->row[i];

		if (!rows->asked[i])
			continue;
		if (row->idle) {
			result_note(r, row->missing ? "not_run" : "no_effect",
				    row->name, row->idle);
			continue;
		}
		add_exit(r, row);
		if (row->tunables)
			result_note(r, "tunables", row->name, row->tunables);
		if (row->library)
			result_note(r, "libraries", row->name, row->library);
		add_samples(r, row);
	}
}

static void add_recording(struct result *r, const struct recording *rec)
{
	if (!rec->known)
		return;
	result_number(r, "big_blocks", (double)rec->blocks);
	result_number(r, "big_bytes", (double)rec->bytes);
	result_number(r, "refaulted_pages", (double)rec->refaulted_pages);
	result_number(r, "dearest_size_bytes", (double)rec->class_size);
	result_number(r, "dearest_blocks", (double)rec->class_blocks);
	result_text(r, "dearest_site", rec->site);
}

struct result *measure_result(const struct rounds *rounds,
			      const struct prescription *p,
			      const struct prescribe_view *view)
{
	struct result *r = result_new(rounds->machine);
	char *line = prescribe_line(p, view);

	result_words(r, "command", rounds->command->argv);
	result_number(r, "rounds", rounds->nr);
	result_number(r, "warm_ups", rounds->warm_ups);
	result_text(r, "options", rounds->keys);
	result_number(r, "page_ns", view->fault.page);
	result_number(r, "page_in_huge_ns", view->fault.huge);
	result_text(r, "prescription", rounds->rows->row[p->choice].name);
	result_text(r, "prescription_line", line);
	result_number(r, "noise", p->noise);
	result_number(r, "refault_share_of_system", p->refault);
	result_number(r, "not_memory_share", p->not_memory);
	add_recording(r, view->recording);
	add_rows(r, rounds->rows);
	free(line);
	return r;
}
