/* SPDX-License-Identifier: MIT */
/* Slices.  See cut.h. */
#include "region/cut.h"

#include "base/assert.h"
#include "base/bits.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

struct sizes {
	size_t slice_bytes;
	size_t floor_bytes; /* below: one piece */
};

static const struct sizes sizes_of[3][2] = {
	[CUT_POPULATE] = { { 16 * MIB, 32 * MIB }, { 64 * MIB, 256 * MIB } },
	[CUT_DISCARD] = { { 64 * MIB, 128 * MIB }, { GIB, 4 * GIB } },
	[CUT_BEHIND] = { { 8 * MIB, 2 * MIB }, { 128 * MIB, 64 * MIB } },
};

struct cut cut_range(struct range range, enum cut_kind kind, bool huge)
{
	const struct sizes *sizes = &sizes_of[kind][huge];
	struct cut cut = { .range = range, .slice_bytes = sizes->slice_bytes };
	size_t before = range.first / cut.slice_bytes;

	if (range.end - range.first >= sizes->floor_bytes)
		cut.nr = (range.end - 1) / cut.slice_bytes - before + 1;
	return cut;
}

struct range cut_slice(const struct cut *cut, size_t nr)
{
	size_t start = round_down_to(cut->range.first, cut->slice_bytes);
	struct range slice = cut->range;

	ASSERT(nr < cut->nr);
	if (nr)
		slice.first = start + nr * cut->slice_bytes;
	if (nr + 1 < cut->nr)
		slice.end = start + (nr + 1) * cut->slice_bytes;
	return slice;
}
