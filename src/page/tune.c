/* SPDX-License-Identifier: MIT */
/* The arithmetic of CPUs' lists.  See tune.h. */
#include "page/tune.h"

#include "base/assert.h"

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static int clamp_int(int value, int low, int high)
{
	return min_int(max_int(value, low), high);
}

/* What a list takes or gives at most at once. */
static int largest_batch(const struct tune *tune)
{
	return tune->batch << tune->scale_max;
}

static bool is_manual(const struct tune *tune)
{
	return tune->high_min == tune->high_max;
}

/* 2^n - 1, so that CPUs that walk in step do not meet in one cache colour; at
 * least 1 before 1 is taken off. */
int tune_batch(uint64_t managed_pages)
{
	uint64_t share = managed_pages >> 10;
	int batch = (share < 256 ? (int)share : 256) / 4;
	unsigned int wanted;

	batch = max_int(batch, 1);
	wanted = (unsigned int)(batch + batch / 2);
	return (int)(1u << (31 - __builtin_clz(wanted))) - 1;
}

static int single_pages(struct tune *tune, int count)
{
	int scaled = tune->batch << tune->alloc_factor;
	int room = max_int(tune->high - count - tune->batch, tune->batch);

	if (scaled <= room && tune->alloc_factor < tune->scale_max)
		tune->alloc_factor++;
	return min_int(scaled, room);
}

int tune_nr_alloc(struct tune *tune, unsigned int order, int count,
		  enum tune_zone zone)
{
	int nr = tune->batch;

	tune->high = clamp_int(tune->high, tune->high_min, tune->high_max);
	if (tune->high < tune->batch)
		return 1;
	if (!is_manual(tune) && zone != TUNE_BELOW_HIGH) {
		int scaled = order ? nr : nr << tune->alloc_factor;

		tune->high = min_int(tune->high + scaled, tune->high_max);
	}
	if (!order)
		nr = single_pages(tune, count);
	return nr > 1 ? max_int(nr >> order, 2) : nr;
}

int tune_nr_free(const struct tune *tune, int high, int count, bool free_high)
{
	if (free_high)
		return min_int(count, largest_batch(tune));
	if (high < tune->batch)
		return 1;
	ASSERT(high >= 2 * tune->batch);
	return clamp_int(tune->free_count, tune->batch, high - tune->batch);
}

static void lower(struct tune *tune, int by)
{
	tune->high = max_int(tune->high - by, tune->high_min);
}

int tune_high(struct tune *tune, int count, enum tune_zone zone, bool free_high)
{
	int run = max_int(tune->free_count, tune->batch);
	int high;

	tune->high = clamp_int(tune->high, tune->high_min, tune->high_max);
	high = tune->high;
	if (!high)
		return 0;
	if (free_high) {
		lower(tune, largest_batch(tune));
		return 0;
	}
	if (zone == TUNE_RECLAIM_ACTIVE) {
		lower(tune, run);
		return min_int(tune->batch << 2, tune->high);
	}
	if (is_manual(tune))
		return high;
	if (zone == TUNE_BELOW_HIGH) {
		lower(tune, run);
		return max_int(count, tune->high_min);
	}
	if (count >= high && high < tune->free_count + tune->batch)
		tune->high = clamp_int(tune->free_count + tune->batch,
				       tune->high_min, tune->high_max);
	return high; /* a raise holds from the next free on */
}

int tune_decay(struct tune *tune, int count)
{
	if (tune->high > tune->high_min)
		tune->high = max_int(max_int(count - largest_batch(tune),
					     tune->high - tune->high / 8),
				     tune->high_min);
	return max_int(count - tune->high, 0);
}

void tune_note_alloc(struct tune *tune)
{
	tune->free_count >>= 1;
}

void tune_note_free(struct tune *tune, unsigned int order)
{
	tune->alloc_factor >>= 1;
	tune->free_count =
		min_int(tune->free_count + (1 << order), largest_batch(tune));
}

/* Picking */

#define LISTS_MAX 8

struct picks {
	int left[LISTS_MAX]; /* pages in each list */
	int nr_lists;
	int nr; /* still to be picked */
	struct tune_step *step;
	int nr_steps, max_steps;
};

/* [A1] never more than there is */
static bool begin(struct picks *picks, const int *count, int nr)
{
	int all = 0;

	ASSERT(picks->nr_lists > 0 && picks->nr_lists <= LISTS_MAX);
	for (int i = 0; i < picks->nr_lists; i++)
		all += picks->left[i] = count[i];
	picks->nr = min_int(nr, all);
	return picks->nr > 0;
}

static void take(struct picks *picks, int list, int nr)
{
	struct tune_step *last = picks->step + picks->nr_steps - 1;

	picks->left[list] -= nr;
	picks->nr -= nr;
	if (picks->nr_steps && last->list == list)
		last->nr += nr;
	else
		picks->step[picks->nr_steps++] =
			(struct tune_step){ .list = list, .nr = nr };
}

static bool goes_on(const struct picks *picks)
{
	return picks->nr && picks->nr_steps < picks->max_steps;
}

int tune_pick_2018(const int *count, int nr_lists, int nr,
		   struct tune_step *step, int max_steps)
{
	struct picks picks = { .nr_lists = nr_lists,
			       .step = step,
			       .max_steps = max_steps };
	int list = 0, weight = 0, got;

	if (!begin(&picks, count, nr))
		return 0;
	while (goes_on(&picks)) {
		do { /* every list looked at, empty or not, adds weight */
			weight++;
			list = list + 1 < nr_lists ? list + 1 : 0;
		} while (!picks.left[list]);
		if (weight == nr_lists) /* all others are empty */
			weight = picks.nr;
		got = min_int(min_int(weight, picks.left[list]), picks.nr);
		take(&picks, list, got);
		weight -= got; /* what is left goes to the next list */
	}
	return picks.nr_steps;
}

int tune_pick_today(const int *count, int nr_lists, int nr, int start,
		    struct tune_step *step, int max_steps)
{
	struct picks picks = { .nr_lists = nr_lists,
			       .step = step,
			       .max_steps = max_steps };
	int list = start;

	if (!begin(&picks, count, nr))
		return 0;
	while (goes_on(&picks)) {
		if (picks.left[list])
			take(&picks, list, min_int(picks.left[list], picks.nr));
		list = list + 1 < nr_lists ? list + 1 : 0;
	}
	return picks.nr_steps;
}
