/* SPDX-License-Identifier: MIT */
/*
 * What keeping may cost the rest of the process and of the machine.
 *
 * [B1] kept <= cap: a quarter of the smallest memory limit, or what the user
 *	says; and nothing is kept while less than the reserve is left of the
 *	tightest limit.
 * [B2] resident <= 17/16 of what the process would have reached without us,
 *	plus 4 MiB.  [S1] sees to that for our own blocks when they are bought;
 *	this is for everything else, small blocks and mappings of the program, and is
 *	looked at, so it can be passed for the time between two looks.
 * [B3] huge pages asked for by thp=auto <= 128 MiB, and a sixteenth of the
 *	smallest limit: a program that touches little of its blocks pays at most
 *	that.
 * [B4] where the address space is limited (ulimit -v, -d) nothing is kept,
 *	because we do not see what else needs it; unless the user gave a cap.
 */
#ifndef REGION_BOUND_H
#define REGION_BOUND_H

#include "region/store.h"

void bound_open(struct store *store);

/*
 * bound_apply - look at limits and resident size, give back what is too much
 * Reads a few files, some 50 us.  Sets how soon to look again.
 */
void bound_apply(struct store *store);

/* [B3] may @nr_pages more be asked for as huge pages?  If so they count. */
bool bound_take_huge(struct store *store, size_t nr_pages);
/* Large memory went back to the kernel. */
void bound_return_huge(struct store *store, size_t nr_pages);

#endif /* REGION_BOUND_H */
