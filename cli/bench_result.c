/* SPDX-License-Identifier: MIT */
/*
 * The result of `quire bench` as JSON: every sample, and what was not measured.
 */
#include "bench_result.h"

struct result *bench_result(const struct bench *b, char **words)
{
	struct result *r = result_new(&b->machine);
	size_t i;

	result_words(r, "command", words);
	result_number(r, "rounds", b->options->rounds);
	result_number(r, "busy", b->options->busy);
	result_number(r, "wait", b->options->wait_s);
	result_number(r, "disturbed", b->disturbed);
	result_number(r, "seconds", b->options->seconds);
	result_number(r, "samples", b->options->samples);
	result_number(r, "loops", b->options->loops);
	result_number(r, "duration", b->options->duration);
	for (i = 0; i < b->nr_notes; i++)
		result_note(r, "not_run", b->notes[i].name, b->notes[i].why);
	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];
		struct result_key key = { s->bench, s->name, s->metric->name,
					  s->metric->unit, s->metric->better };

		result_row_of(r, &key, s->variant, s->v, s->nr);
	}
	return r;
}
