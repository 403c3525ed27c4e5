/* SPDX-License-Identifier: MIT */
/*
 * Sets of ranges [first, end), as sorted arrays.
 *
 * Which parts of a region are gone changes by range, mostly at the ends of a
 * range that is there, so that neighbours merge and few remain: a binary search
 * and a memmove are cheaper than a tree.  A set grows only in ranges_reserve,
 * so that whoever has begun to release can also note that it is done.
 *
 * [G1] ranges are sorted, not empty, and do not touch.
 * [G2] total is the sum of their lengths.
 *
 * A second kind of set has none of that: a bag, where the same range may stand
 * several times, in any order.  No locking: the owner's matter.
 */
#ifndef REGION_RANGES_H
#define REGION_RANGES_H

#include <stdbool.h>
#include <stddef.h>

struct range {
	size_t first, end;
};

struct ranges {
	struct range *at;
	size_t nr, capacity;
	size_t total;
	bool lent; /* at is memory of the owner's */
};

/* An empty set begins in @memory, so that its first ranges buy no page. */
void ranges_begin_in(struct ranges *set, void *memory, size_t bytes);

/* Room for @nr_more ranges: 0 or -ENOMEM, and the set is as it was. */
int ranges_reserve(struct ranges *set, size_t nr_more);
void ranges_free(struct ranges *set);

/* Needs room for one; must not overlap what is there. */
void ranges_add(struct ranges *set, struct range range);
/* Needs room for one; must be part of one that is there. */
void ranges_remove(struct ranges *set, struct range range);
bool ranges_meet(const struct ranges *set, struct range range);
/* The first gap at or after @from and before @limit; false: there is none. */
bool ranges_gap(const struct ranges *set, size_t from, size_t limit,
		struct range *out);
void ranges_check(const struct ranges *set);

/* Bags; bag_add needs room for one. */
void bag_add(struct ranges *bag, struct range range);
/* False: it is not in there. */
bool bag_remove(struct ranges *bag, struct range range);
bool bag_meet(const struct ranges *bag, struct range range);

#endif /* REGION_RANGES_H */
