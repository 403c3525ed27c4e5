/* SPDX-License-Identifier: MIT */
/*
 * Regions, seen from inside.
 *
 *	base ─┬─────────────┬──────────┬─────────────────┬── base + bytes
 *	      │ gone        │ being    │                 │
 *	      │ (released,  │ worked   │ the region's    │
 *	      │  or on its  │ on (a    │                 │
 *	      │  way)       │  claim)  │                 │
 *	      └─────────────┴──────────┴─────────────────┘
 *
 * [R1] No call reaches the kernel for a range that is not the region's for as
 *	long as the call takes: it is claimed first, a claim is refused where a
 *	part is gone, and a release goes with no other claim.  So no discard can
 *	ever wipe memory that somebody else got at the same address.
 * [R2] A range on its way (release_start) is gone from the start; its addresses
 *	stay mapped until its memory is free, so nobody can get them.
 * [R3] Unmapping and noting it are one step under the unmap lock, which fork
 *	takes: a child never finds addresses that are unmapped but noted as its
 *	own, or the other way round.
 * [R4] gone has room for every claim of a release and for two ends of every
 *	release on its way, so that nothing fails once memory is lost.
 * [R5] A range that is registered with the kernel is never discarded, never
 *	released, and never on its way.
 * [R6] A region whose handle was closed lives until its last release on its way
 *	has ended.
 *
 * One region lock for all regions: each take of it stands beside a system call
 * that costs far more, and fork has one lock to take instead of a list of
 * unknown length.
 */
#ifndef REGION_AREA_H
#define REGION_AREA_H

#include <quire/region.h>

#include "os/os.h"
#include "os/pool.h"
#include "region/cut.h"
#include "region/ranges.h"

struct quire_region {
	/* const after open */
	char *base;
	size_t bytes;
	size_t unit; /* of ranges */
	enum quire_pages pages;
	enum quire_numa numa;
	unsigned int flags;
	unsigned int headroom_percent;
	unsigned int nr_fallbacks;

	/* region lock */
	struct list link;    /* in the list of all */
	struct ranges gone;  /* offsets */
	struct ranges marks; /* a bag: registered with the kernel */
	struct list claims;
	struct range zoned; /* all that zones ever had lies in it */
	size_t nr_behind;   /* releases on their way */
	bool closed;	    /* the handle has ended */
	bool absent;	    /* a child that did not inherit it */
};

enum claim_kind {
	CLAIM_POPULATE,
	CLAIM_DISCARD,
	CLAIM_RELEASE,
	CLAIM_ZONE, /* for as long as a zone is open: goes with all but releases
		       and other zones, marks included */
};

/* On the stack of who works on the range. */
struct claim {
	struct list link;   /* region lock */
	struct range range; /* const while it stands */
	enum claim_kind kind;
	const void *owner; /* the thread; NULL: it stands in a child too */
	bool as_new;	   /* of a zone: none was there before */
};

/* @bytes and @options were checked: known values, not nothing. */
int area_open(size_t bytes, const struct quire_region_options *options,
	      struct quire_region **out);
int area_close(struct quire_region *region);

/* The range as given by the user: 0 or -EINVAL. */
int area_range(const struct quire_region *region, size_t offset, size_t bytes,
	       struct range *out);

/* [R1] 0, -EINVAL, -EBUSY, -ENOMEM, -ENXIO.  Of an empty range too. */
int area_claim(struct quire_region *region, struct range range,
	       enum claim_kind kind, struct claim *claim);
void area_unclaim(struct quire_region *region, struct claim *claim);

/*
 * [R3] Unmap a claimed range, note that it is gone, drop the claim.  The claim
 * is dropped on failure as well; then the range is the region's as before.
 */
int area_unmap(struct quire_region *region, struct claim *claim);

/* [R2] A claimed range goes on its way: claim dropped, gone noted. */
void area_send_off(struct quire_region *region, struct claim *claim);
/* It has arrived: unmap it unless *unmapped, which is set under the unmap lock.
 * On failure the region has it back. */
int area_arrive(struct quire_region *region, struct range range,
		bool *unmapped);
/* The release that sent it off has ended; the region may be gone after it. */
void area_settle(struct quire_region *region);

int area_mark(struct quire_region *region, struct range range);
int area_unmark(struct quire_region *region, struct range range);
void area_describe(struct quire_region *region, struct quire_region_facts *out);

static inline bool area_huge(const struct quire_region *region)
{
	return region->pages != QUIRE_PAGES_4K;
}

static inline void *area_at(const struct quire_region *region, size_t offset)
{
	return region->base + offset;
}

/* Work on ranges; @work may be NULL. */
int area_populate(struct quire_region *region, struct range range,
		  struct quire_work *work);
int area_discard(struct quire_region *region, struct range range,
		 struct quire_work *work);
int area_release(struct quire_region *region, struct range range,
		 struct quire_work *work);
int area_release_start(struct quire_region *region, struct range range,
		       unsigned int workers, struct quire_release **out);
int release_poll(struct quire_release *release, struct quire_work *result);
int release_wait(struct quire_release *release, struct quire_work *result);
void release_forget(struct quire_release *release);
/* A region was opened: be ready, as far as that can be had. */
void release_prepare(void);

/* One piece of work for pool_run, with the caller's wishes and results. */
struct work_job {
	struct pool_job job;
	struct quire_region *region;
	struct cut cut;
	struct quire_work *work;
	bool cancelled, told_all;
};

/*
 * work_run - cut @range, do the slices with @body, fill in the results
 * Below the floor body->slice is called once, by the caller, with nr 0; then
 * job->cut.nr is 0 and work_slice says the whole range.
 */
int work_run(struct work_job *job, struct quire_region *region,
	     struct range range, enum cut_kind kind);
struct range work_slice(const struct work_job *job, size_t nr);
/* What a pool job says, for the user. */
void work_report(struct quire_work *work, const struct pool_job *job,
		 const struct cut *cut);
bool work_between(struct pool_job *job, size_t nr_done);

void area_count(enum quire_counter which, uint64_t by);
void area_counters(uint64_t counter[QUIRE_NR_COUNTERS]);

/* What registering the fork handlers said when the library was loaded. */
int area_fork_error(void);

/* For fork and for the walker: all regions, under the region lock. */
struct list *area_all(void);
void area_lock_all(void);
void area_unlock_all(void);
void area_locks_in_child(void);
/* Panics where [R1] to [R6], [G1] or a list of the pool is broken. */
void area_check(void);

#endif /* REGION_AREA_H */
