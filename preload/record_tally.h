/* SPDX-License-Identifier: MIT */
/*
 * What the recorder knows: the big blocks that are alive, counts by size
 * class, and the places that asked for them.  record.c fills it,
 * record_report.c prints it.
 *
 * Everything lies in fixed tables of zero pages, so a table costs what is
 * touched of it, and nothing here ever allocates.
 */
#ifndef PRELOAD_RECORD_TALLY_H
#define PRELOAD_RECORD_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_CLASSES 512 /* 8 to each power of two */
#define TALLY_SITES   4096
#define TALLY_FRAMES  16
#define TALLY_SIZES   4
#define TALLY_NO_SITE UINT16_MAX
#define TALLY_GAPS    64

/* One block of at least the threshold. */
struct tally_block {
	uint64_t size;
	uint32_t there; /* pages that were there when malloc returned */
	uint16_t site;
	uint8_t weight; /* for the site: 0, or 1 block stands for n */
	uint8_t reused; /* a block freed before could have served it */
	uint32_t epoch; /* process of the family that it belongs to */
};

struct tally_class {
	uint64_t blocks, bytes, resized;
	uint64_t live, live_peak;
	uint64_t reused;
	uint64_t refaulted_pages, first_pages;
	uint64_t min, max;
	/* the most common exact sizes; the rarest makes room for a new one */
	struct {
		uint64_t size, count;
	} common[TALLY_SIZES];
	uint32_t gap[TALLY_GAPS]; /* by log2 of nanoseconds */
};

struct tally_site {
	uint64_t blocks, bytes, refaulted_pages;
	uint64_t hash; /* 0: free slot */
	uint32_t nr_frames;
	void *frame[TALLY_FRAMES];
};

struct tally_total {
	uint64_t blocks, bytes, resized;
	uint64_t live_bytes, live_bytes_peak;
	uint64_t reused, reused_bytes;
	uint64_t refaulted_pages, first_pages;
	uint64_t lost;
};

struct tally {
	struct tally_total total;
	struct tally_class class[TALLY_CLASSES];
	struct tally_site site[TALLY_SITES];
};

/* The tally lock guards it. */
extern struct tally tally;

/* Before any other call; from the constructor. */
void tally_start(uint64_t decay_ms);

/* A block below the threshold was handed out. */
void tally_small(size_t size);
void tally_small_sum(uint64_t *blocks, uint64_t *bytes);

/*
 * tally_add - a big block was handed out
 * @frame: who asked, innermost first; @nr 0 when this one was not looked at
 * @weight: for how many blocks this one stands at its site
 */
void tally_add(const void *ptr, size_t size, void *const *frame, uint32_t nr,
	       uint32_t weight);

/*
 * tally_take - forget the block at @ptr, which is about to be freed or resized
 * False when it is none of ours; takes no lock in that case.
 */
bool tally_take(const void *ptr, struct tally_block *out);

/* What becomes of a taken block: freed, resized, or nothing happened. */
void tally_freed(const struct tally_block *block, uint32_t resident);
void tally_resized(const void *ptr, size_t size, struct tally_block block);
void tally_put_back(const void *ptr, struct tally_block block);

/* Pages of [ptr, ptr + size) that are there now. */
uint32_t tally_resident(const void *ptr, size_t size);

/* Count the pages of blocks still alive, those that were not counted yet. */
void tally_count_live_locked(void);

void tally_lock(void);
void tally_unlock(void);
/* The lock, or after a bounded wait not: for the end of the process. */
bool tally_lock_or_not(void);

/* In a forked child that holds the lock: start from nothing. */
void tally_child_locked(void);

/* Nanoseconds in the middle of the re-use gaps; 0 when there are none. */
uint64_t tally_gap_median(const struct tally_class *class);

#endif /* PRELOAD_RECORD_TALLY_H */
