/* SPDX-License-Identifier: MIT */
/* Sets of ranges.  See ranges.h for [G1] and [G2]. */
#include "region/ranges.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "os/os.h"

void ranges_begin_in(struct ranges *set, void *memory, size_t bytes)
{
	*set = (struct ranges){ .at = memory,
				.capacity = bytes / sizeof(struct range),
				.lent = true };
}

static void unmap_array(struct ranges *set)
{
	if (set->capacity && !set->lent)
		os->unmap(set->at, set->capacity * sizeof(struct range));
}

int ranges_reserve(struct ranges *set, size_t nr_more)
{
	size_t needed = set->nr + nr_more;
	size_t bytes = PAGE_SIZE;
	void *fresh;

	if (needed <= set->capacity)
		return 0;
	while (bytes / sizeof(struct range) < needed)
		bytes *= 2;
	if (os->map(bytes, PAGE_SIZE, &fresh))
		return -ENOMEM;
	if (set->nr)
		memcpy(fresh, set->at, set->nr * sizeof(struct range));
	unmap_array(set);
	set->lent = false;
	set->at = fresh;
	set->capacity = bytes / sizeof(struct range);
	return 0;
}

void ranges_free(struct ranges *set)
{
	unmap_array(set);
	*set = (struct ranges){ 0 };
}

/* The first range that ends after @at; set->nr if there is none. */
static size_t find(const struct ranges *set, size_t at)
{
	size_t low = 0, high = set->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->at[middle].end > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void insert(struct ranges *set, size_t index, struct range range)
{
	ASSERT(set->nr < set->capacity);
	memmove(set->at + index + 1, set->at + index,
		(set->nr - index) * sizeof(struct range));
	set->at[index] = range;
	set->nr++;
}

static void erase(struct ranges *set, size_t index)
{
	set->nr--;
	memmove(set->at + index, set->at + index + 1,
		(set->nr - index) * sizeof(struct range));
}

void ranges_add(struct ranges *set, struct range range)
{
	size_t index = find(set, range.first);
	bool joins_left = index && set->at[index - 1].end == range.first;
	bool joins_right = index < set->nr && set->at[index].first == range.end;

	ASSERT(range.first < range.end && !ranges_meet(set, range));
	set->total += range.end - range.first;
	if (joins_left && joins_right) {
		set->at[index - 1].end = set->at[index].end;
		erase(set, index);
	} else if (joins_left) {
		set->at[index - 1].end = range.end;
	} else if (joins_right) {
		set->at[index].first = range.first;
	} else {
		insert(set, index, range);
	}
}

void ranges_remove(struct ranges *set, struct range range)
{
	size_t index = find(set, range.first);
	struct range *from = &set->at[index];

	ASSERT(index < set->nr && range.first < range.end);
	ASSERT(from->first <= range.first && range.end <= from->end);
	set->total -= range.end - range.first;
	if (from->first == range.first && from->end == range.end) {
		erase(set, index);
	} else if (from->first == range.first) {
		from->first = range.end;
	} else if (from->end == range.end) {
		from->end = range.first;
	} else {
		struct range rest = { range.end, from->end };

		from->end = range.first;
		insert(set, index + 1, rest);
	}
}

bool ranges_meet(const struct ranges *set, struct range range)
{
	size_t index = find(set, range.first);

	return range.first < range.end && index < set->nr &&
	       set->at[index].first < range.end;
}

bool ranges_gap(const struct ranges *set, size_t from, size_t limit,
		struct range *out)
{
	size_t index = find(set, from);

	while (index < set->nr && set->at[index].first <= from)
		from = set->at[index++].end;
	if (from >= limit)
		return false;
	out->first = from;
	out->end =
		index < set->nr ? min_size(set->at[index].first, limit) : limit;
	return true;
}

void ranges_check(const struct ranges *set)
{
	size_t total = 0;

	ASSERT(set->nr <= set->capacity);
	for (size_t i = 0; i < set->nr; i++) {
		ASSERT(set->at[i].first < set->at[i].end);
		ASSERT(!i || set->at[i - 1].end < set->at[i].first);
		total += set->at[i].end - set->at[i].first;
	}
	ASSERT(total == set->total);
}

/* Bags */

void bag_add(struct ranges *bag, struct range range)
{
	ASSERT(bag->nr < bag->capacity);
	bag->at[bag->nr++] = range;
	bag->total += range.end - range.first;
}

bool bag_remove(struct ranges *bag, struct range range)
{
	for (size_t i = bag->nr; i-- > 0;) {
		if (bag->at[i].first != range.first ||
		    bag->at[i].end != range.end)
			continue;
		bag->at[i] = bag->at[--bag->nr];
		bag->total -= range.end - range.first;
		return true;
	}
	return false;
}

bool bag_meet(const struct ranges *bag, struct range range)
{
	for (size_t i = 0; i < bag->nr; i++)
		if (bag->at[i].first < range.end &&
		    range.first < bag->at[i].end)
			return true;
	return false;
}
