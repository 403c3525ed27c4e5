/* SPDX-License-Identifier: MIT */
/*
 * Into how many slices work on a range is cut.  Pure: no state, no call.
 *
 * Slices start at multiples of their size, so that no huge page and no page
 * table is shared by two; the first and the last may be shorter.
 *
 * Floors, measured with 2 CPUs: starting and joining a helper costs 50 to 100
 * us and unmapping 64 MiB of 4 KiB pages 1.3 to 4 ms, so from 128 MiB (two
 * slices) on two threads always won and at 32 MiB never; of huge pages 1 GiB
 * takes some 2 ms and two threads won from 4 GiB on.
 *
 * Behind the caller's back the floor is where handing over (some 30 us) costs
 * the caller less than doing it: 2 MiB, of huge pages 64 MiB.  It is cut finer:
 * helpers run at idle priority there, so one that is pushed off its CPU keeps
 * its slice for long, on older kernels with the lock of the mapping, and
 * whoever waits must wait for that slice.
 */
#ifndef REGION_CUT_H
#define REGION_CUT_H

#include <stddef.h>

#include "region/ranges.h"

enum cut_kind {
	CUT_POPULATE,
	CUT_DISCARD, /* and the discards before a release */
	CUT_BEHIND,  /* the same by helpers of idle priority */
};

/* A range that is cut; nr == 0: below the floor. */
struct cut {
	struct range range;
	size_t slice_bytes;
	size_t nr;
};

/* @huge: the pages are (hoped to be) huge. */
struct cut cut_range(struct range range, enum cut_kind kind, bool huge);

/* The bounds of slice @nr. */
struct range cut_slice(const struct cut *cut, size_t nr);

#endif /* REGION_CUT_H */
