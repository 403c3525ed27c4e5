/* SPDX-License-Identifier: MIT */
/*
 * How many pages a CPU's list takes, keeps and gives: the arithmetic of Linux
 * 6.8 (mm/page_alloc.c: nr_pcp_alloc, nr_pcp_free, nr_pcp_high,
 * decay_pcp_high, zone_batchsize), as pure functions.  Nothing here knows a
 * list.
 */
#ifndef PAGE_TUNE_H
#define PAGE_TUNE_H

#include <stdbool.h>
#include <stdint.h>

struct tune {
	int batch;
	int high, high_min, high_max;
	int alloc_factor; /* 0 … scale_max */
	int free_count;
	int scale_max; /* 5 */
};

enum tune_zone {
	TUNE_NORMAL,
	TUNE_BELOW_HIGH,     /* below the high watermark */
	TUNE_RECLAIM_ACTIVE, /* somebody reclaims */
};

/* Spec A.5, G.2: may be 0; use at least 1. */
int tune_batch(uint64_t managed_pages);
/* Blocks of @order to take when the list is empty; changes high, alloc_factor.
 */
int tune_nr_alloc(struct tune *tune, unsigned int order, int count,
		  enum tune_zone zone);
/*
 * Pages to give when count reached @high, the one that tune_high returned.
 * @high is below batch, or at least twice as much (spec G.4, row 4).
 */
int tune_nr_free(const struct tune *tune, int high, int count, bool free_high);
/* The high to compare count with at a free; changes high. */
int tune_high(struct tune *tune, int count, enum tune_zone zone,
	      bool free_high);
/* One step of decay: changes high, returns pages to drain. */
int tune_decay(struct tune *tune, int count);
/* What an allocation and a free of 2^@order pages do to the run lengths. */
void tune_note_alloc(struct tune *tune);
void tune_note_free(struct tune *tune, unsigned int order);

/*
 * Which pages a drain picks from @nr_lists lists of @count[] pages, oldest
 * first, @nr in all (clamped to what there is).  Steps (list, pages) are
 * written to @step; returns how many steps.  Spec A.4, A.8, G.1.
 */
struct tune_step {
	int list;
	int nr;
};
/* 2018: round robin, a list that follows empty ones is drained harder. */
int tune_pick_2018(const int *count, int nr_lists, int nr,
		   struct tune_step *step, int max_steps);
/* today: from list @start on, each until it is empty. */
int tune_pick_today(const int *count, int nr_lists, int nr, int start,
		    struct tune_step *step, int max_steps);

#endif /* PAGE_TUNE_H */
