/* SPDX-License-Identifier: MIT */
/*
 * Conditions of --fail-if.
 *
 * A condition holds when the whole 95 % interval of the ratio is on the far
 * side of the bound: noise alone must not fail a build, and a build must not
 * pass because somebody was lucky once.
 */
#include "failif.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "+3%", "-12.5%" as a ratio. */
static int parse_bound(const char *s, double *bound)
{
	char *end;
	double percent;

	if ((*s != '+' && *s != '-') || !strchr("0123456789.", s[1]) || !s[1])
		return -EINVAL;
	percent = strtod(s, &end);
	if (end == s || strcmp(end, "%") != 0 || !isfinite(percent) ||
	    percent < -100)
		return -EINVAL;
	*bound = 1 + percent / 100;
	return 0;
}

int failif_parse(struct rows *rows, const char *text, struct failif *out,
		 const char **why)
{
	size_t left = strcspn(text, "<>"), row_len = strcspn(text, ".");
	const struct row *row = &rows->row[ROW_QUIRE];
	const char *name = text;

	*why = "it has neither > nor <";
	if (!text[left])
		return -EINVAL;
	*why = "its row is none of those of --rows";
	if (row_len < left) {
		row = rows_find(rows, text, row_len);
		name = text + row_len + 1;
	}
	if (!row || row == &rows->row[ROW_AS_IS])
		return -EINVAL;
	out->text = text;
	out->row = (enum row_id)(row - rows->row);
	out->op = text[left];
	out->metric = metric_find(name, (size_t)(text + left - name));
	*why = "its metric is none of wall, user, system, faults, peak_rss, end_rss, exit";
	if (out->metric == NR_METRICS)
		return -EINVAL;
	*why = "its bound must be like +3% or -10%, against as-is";
	return parse_bound(text + left + 1, &out->bound);
}

enum failif_answer failif_judge(const struct failif *f, const struct rows *rows)
{
	const struct interval *i =
		&rows->row[f->row].compared[f->metric].against;
	double low = i->low, high = i->high;

	if (row_broke(rows, f->row))
		return FAILIF_BROKEN;
	if (!row_runs(rows, f->row))
		low = high = 1;
	if (isnan(low) || isnan(high))
		return FAILIF_UNKNOWN;
	if (f->op == '>')
		return low > f->bound ? FAILIF_YES : FAILIF_NO;
	return high < f->bound ? FAILIF_YES : FAILIF_NO;
}
