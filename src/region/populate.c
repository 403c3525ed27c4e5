/* SPDX-License-Identifier: MIT */
/*
 * Memory behind a range, and out of it again with the addresses kept.
 *
 * Populating asks the kernel to fault in for writing, because that call reports
 * what a touch would answer with a signal.  Where it is not known, ordinary
 * pages are touched (they can be short of memory, not of a pool); huge pages of
 * the pool never are.
 */
#include <errno.h>

#include "base/atomic.h"
#include "os/limit.h"
#include "region/area.h"

/* Bytes of the range without memory behind them; all of it if not known. */
static size_t bytes_missing(const struct quire_region *region,
			    struct range range)
{
	unsigned char pages[4096];
	size_t missing = 0;

	for (size_t at = range.first; at < range.end;) {
		size_t len =
			min_size(range.end - at, sizeof(pages) << PAGE_SHIFT);

		if (os->resident(area_at(region, at), len, pages))
			return range.end - range.first;
		for (size_t i = 0; i < len >> PAGE_SHIFT; i++)
			missing += !(pages[i] & 1);
		at += len;
	}
	return missing << PAGE_SHIFT;
}

/* A process that goes over a group's limit is killed, not refused. */
static int check_headroom(const struct quire_region *region, struct range range)
{
	uint64_t room;

	/* Pages of the pool were set aside at open, and no limit counts them.
	 */
	if (region->flags & QUIRE_REGION_NO_LIMIT ||
	    region->pages == QUIRE_PAGES_HUGETLB_2M)
		return 0;
	area_count(QUIRE_COUNTER_limit_looks, 1);
	if (os_limit_room(region->headroom_percent, &room)) {
		area_count(QUIRE_COUNTER_limit_unknown, 1);
		return 0;
	}
	if (range.end - range.first <= room ||
	    bytes_missing(region, range) <= room)
		return 0;
	area_count(QUIRE_COUNTER_region_no_room, 1);
	return -ENOMEM;
}

/* A write that changes nothing, also while others write. */
static void touch(char *from, size_t bytes)
{
	for (char *at = from; at < from + bytes; at += PAGE_SIZE)
		__atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
	area_count(QUIRE_COUNTER_region_touched, bytes);
}

static int populate_slice(struct pool_job *pool_job, size_t nr)
{
	struct work_job *job = container_of(pool_job, struct work_job, job);
	bool hugetlb = job->region->pages == QUIRE_PAGES_HUGETLB_2M;
	struct range slice = work_slice(job, nr);
	size_t bytes = slice.end - slice.first;
	void *address = area_at(job->region, slice.first);
	int error = os->advise(address, bytes, OS_POPULATE);

	if (error == -EINVAL && hugetlb)
		return -EOPNOTSUPP;
	if (error == -EFAULT && hugetlb) /* how an empty pool is reported */
		return -ENOMEM;
	if (error && error != -EINVAL)
		return error;
	if (error)
		touch(address, bytes);
	area_count(QUIRE_COUNTER_region_populated, bytes);
	return 0;
}

int area_populate(struct quire_region *region, struct range range,
		  struct quire_work *work)
{
	static const struct pool_body body = { .slice = populate_slice,
					       .between = work_between };
	struct work_job job = { .job = { .body = &body }, .work = work };
	struct claim claim;
	int error = area_claim(region, range, CLAIM_POPULATE, &claim);

	if (error)
		return error;
	if (range.first < range.end) {
		error = check_headroom(region, range);
		if (!error)
			error = work_run(&job, region, range, CUT_POPULATE);
	}
	area_unclaim(region, &claim);
	return error;
}

static int discard_slice(struct pool_job *pool_job, size_t nr)
{
	struct work_job *job = container_of(pool_job, struct work_job, job);
	struct range slice = work_slice(job, nr);
	size_t bytes = slice.end - slice.first;
	int error = os->advise(area_at(job->region, slice.first), bytes,
			       OS_DISCARD);

	if (!error)
		area_count(QUIRE_COUNTER_region_discarded, bytes);
	return error;
}

int area_discard(struct quire_region *region, struct range range,
		 struct quire_work *work)
{
	static const struct pool_body body = { .slice = discard_slice,
					       .between = work_between };
	struct work_job job = { .job = { .body = &body }, .work = work };
	struct claim claim;
	int error = area_claim(region, range, CLAIM_DISCARD, &claim);

	if (error)
		return error;
	if (range.first < range.end)
		error = work_run(&job, region, range, CUT_DISCARD);
	area_unclaim(region, &claim);
	return error;
}
