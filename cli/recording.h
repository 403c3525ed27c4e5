/* SPDX-License-Identifier: MIT */
/*
 * What the recorder saw in one run: big blocks, and pages that were bought
 * from the kernel again although the program had them before.
 */
#ifndef QUIRE_CLI_RECORDING_H
#define QUIRE_CLI_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct recording {
	bool known;	    /* there was at least one whole file */
	uint64_t threshold; /* bytes; the rest counts blocks of at least that */
	/* sums over all processes */
	uint64_t blocks, bytes, reused;
	uint64_t refaulted_pages, first_pages;
	/* the dearest class of sizes in any process */
	uint64_t class_size, class_blocks, class_refaulted, class_live_peak;
	double class_gap_ms;
	char site[256]; /* the dearest call site; "" if none */
};

/* recording_read - all *.record files in @dir */
void recording_read(struct recording *r, const char *dir);

/* recording_add - one such file; a cut one is not believed */
void recording_add(struct recording *r, FILE *f);

#endif /* QUIRE_CLI_RECORDING_H */
