/* SPDX-License-Identifier: MIT */
/*
 * Conditions of --fail-if: "wall>+3%", "env.peak_rss>+10%".
 */
#ifndef QUIRE_CLI_FAILIF_H
#define QUIRE_CLI_FAILIF_H

#include "rows.h"

struct failif {
	const char *text; /* as the user wrote it */
	enum row_id row;
	enum metric metric;
	char op;      /* '>' or '<' */
	double bound; /* a ratio against as-is: +3% is 1.03 */
};

enum failif_answer {
	FAILIF_NO,
	FAILIF_YES,	/* it holds beyond noise */
	FAILIF_UNKNOWN, /* the value is not known */
	FAILIF_BROKEN,	/* the command fails in this row only */
};

/*
 * failif_parse - [ROW.]METRIC(>|<)(+|-)N%
 * Returns 0, or -EINVAL and writes what is wrong to @why.
 */
int failif_parse(struct rows *rows, const char *text, struct failif *out,
		 const char **why);

/* failif_judge - a row without effect is the program as it is: ratio 1 */
enum failif_answer failif_judge(const struct failif *f,
				const struct rows *rows);

#endif /* QUIRE_CLI_FAILIF_H */
