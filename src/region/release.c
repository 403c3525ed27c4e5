/* SPDX-License-Identifier: MIT */
/*
 * Giving a range back for good: by the caller and helpers together, or behind
 * the caller's back.
 *
 *	claim ─> discard, slice by slice ─> unmap the empty range, once
 *
 * Discarding is what takes the time, and several threads can do it at once;
 * unmapping takes the one lock of the address space, so that several threads
 * gain nothing by it (measured: none).  Of what is discarded no CPU keeps a
 * translation: each discard is one call of the kernel, which flushes before it
 * frees, so the order that a kernel with lists of pages must take care of
 * between its workers is a matter within each call here.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "region/area.h"

/* Here, and wait */

static int release_slice(struct pool_job *pool_job, size_t nr)
{
	struct work_job *job = container_of(pool_job, struct work_job, job);
	struct range slice = work_slice(job, nr);

	return os->advise(area_at(job->region, slice.first),
			  slice.end - slice.first, OS_DISCARD);
}

/*
 * The discards of big ranges.  What cannot be discarded (locked memory, huge
 * pages on older kernels) is left to the unmapping: only a cancel is a reason
 * to stop.
 */
static int discard_first(struct quire_region *region, struct range range,
			 struct quire_work *work)
{
	static const struct pool_body body = { .slice = release_slice,
					       .between = work_between };
	struct work_job job = { .job = { .body = &body }, .work = work };
	int error = work_run(&job, region, range, CUT_DISCARD);

	if (error && error != -ECANCELED) {
		area_count(QUIRE_COUNTER_advise_failed, 1);
		error = 0;
	}
	return error;
}

static bool worth_cutting(const struct quire_region *region, struct range range)
{
	return cut_range(range, CUT_DISCARD, area_huge(region)).nr;
}

/* The claim ends here. */
static int unmap_last(struct quire_region *region, struct claim *claim,
		      struct quire_work *work)
{
	size_t bytes = claim->range.end - claim->range.first;
	uint64_t before = work ? os->thread_ns() : 0;
	int error = area_unmap(region, claim);

	if (!work)
		return error;
	work->cpu_ns += os->thread_ns() - before;
	if (!work->workers_used)
		work->workers_used = 1;
	if (!error)
		work->bytes_done = bytes;
	return error;
}

static void clear_results(struct quire_work *work)
{
	if (!work)
		return;
	work->workers_used = 0;
	work->bytes_done = work->nr_slices = work->nr_helped = 0;
	work->cpu_ns = 0;
}

int area_release(struct quire_region *region, struct range range,
		 struct quire_work *work)
{
	struct claim claim;
	int error = area_claim(region, range, CLAIM_RELEASE, &claim);

	clear_results(work);
	if (error)
		return error;
	if (worth_cutting(region, range))
		error = discard_first(region, range, work);
	if (error) {
		area_unclaim(region, &claim);
		return error;
	}
	return unmap_last(region, &claim, work);
}

/* Behind the caller's back */

/* A page of its own: it outlives the thread, the region and perhaps all. */
struct quire_release {
	struct pool_job job;
	struct quire_region *region; /* until the job has ended */
	struct cut cut;
	bool unmapped; /* unmap lock; true is for ever */
	int error;     /* written by finish */
};

static struct quire_release *release_of(struct pool_job *job)
{
	return container_of(job, struct quire_release, job);
}

/* The addresses are nobody's until finish has unmapped them: [R2].  In a child
 * all of this may run once more, after it was done. */
static int behind_slice(struct pool_job *job, size_t nr)
{
	struct quire_release *release = release_of(job);
	struct range slice = cut_slice(&release->cut, nr);

	if (release->unmapped || release->region->absent)
		return 0;
	area_count(QUIRE_COUNTER_region_slices, 1);
	return os->advise(area_at(release->region, slice.first),
			  slice.end - slice.first, OS_DISCARD);
}

static void behind_finish(struct pool_job *job)
{
	struct quire_release *release = release_of(job);

	if (job->error)
		area_count(QUIRE_COUNTER_advise_failed, 1);
	area_count(QUIRE_COUNTER_region_helped, job->nr_helped);
	release->error = area_arrive(release->region, release->cut.range,
				     &release->unmapped);
	area_settle(release->region);
}

/*
 * One page for a handle is kept, touched already: buying one costs more (30 us
 * and up) than all the rest that the caller must wait for.  Atomic.
 */
static void *spare;

static void keep_or_unmap(void *page)
{
	page = exchange_acq_rel(&spare, page);
	if (page)
		os->unmap(page, sizeof(struct quire_release));
}

void release_prepare(void)
{
	void *page;

	if (load_relaxed(&spare) ||
	    os->map(sizeof(struct quire_release), PAGE_SIZE, &page))
		return;
	*(struct quire_release *)page = (struct quire_release){ 0 };
	keep_or_unmap(page);
}

static int page_for_release(void **out)
{
	*out = exchange_acq_rel(&spare, NULL);
	return *out ? 0 : os->map(sizeof(struct quire_release), PAGE_SIZE, out);
}

static void behind_drop(struct pool_job *job)
{
	keep_or_unmap(release_of(job));
}

static const struct pool_body behind_body = {
	.slice = behind_slice,
	.finish = behind_finish,
	.drop = behind_drop,
};

static unsigned int threads_behind(unsigned int workers)
{
	unsigned int quarter = os->nr_cpus() / 4;

	return workers ? workers : quarter ? quarter : 1;
}

static int new_release(struct quire_region *region, struct range range,
		       unsigned int workers, struct quire_release **out)
{
	struct quire_release *release;
	void *page;
	int error = page_for_release(&page);

	if (error)
		return error;
	release = page;
	*release = (struct quire_release){ .region = region };
	release->cut = cut_range(range, CUT_BEHIND, area_huge(region));
	release->job.body = &behind_body;
	release->job.nr_slices = release->cut.nr;
	release->job.max_threads = threads_behind(workers);
	*out = release;
	return 0;
}

/* Done already: a handle that has ended, without the pool. */
static int release_now(struct quire_release *release, struct claim *claim)
{
	int error = area_unmap(release->region, claim);

	release->job.state = JOB_ENDED;
	release->job.nr_threads = 1;
	release->error = error;
	return error;
}

static void send_off(struct quire_release *release, struct claim *claim)
{
	area_send_off(release->region, claim);
	STEP("release: sent off, not submitted");
	if (pool_submit(&release->job)) {
		area_count(QUIRE_COUNTER_region_inline, 1);
		pool_wait(&release->job);
	}
}

int area_release_start(struct quire_region *region, struct range range,
		       unsigned int workers, struct quire_release **out)
{
	struct quire_release *release;
	struct claim claim;
	int error = area_claim(region, range, CLAIM_RELEASE, &claim);

	if (error)
		return error;
	error = new_release(region, range, workers, &release);
	if (error) {
		area_unclaim(region, &claim);
		return error;
	}
	if (release->cut.nr)
		send_off(release, &claim);
	else
		release_now(release, &claim);
	if (out)
		*out = release;
	else
		release_forget(release);
	return 0;
}

static void report(struct quire_release *release, const struct pool_job *job,
		   struct quire_work *result)
{
	if (!result)
		return;
	size_t bytes = release->cut.range.end - release->cut.range.first;

	work_report(result, job, &release->cut);
	if (job->state != JOB_ENDED) /* not in order, so: how much */
		result->bytes_done = min_size(
			job->nr_done * release->cut.slice_bytes, bytes);
	else if (!release->error)
		result->bytes_done = bytes;
}

int release_poll(struct quire_release *release, struct quire_work *result)
{
	struct pool_job copy;

	pool_peek(&release->job, &copy);
	report(release, &copy, result);
	return copy.state == JOB_ENDED ? release->error : -EAGAIN;
}

int release_wait(struct quire_release *release, struct quire_work *result)
{
	int error;

	pool_wait(&release->job);
	report(release, &release->job, result);
	error = release->error;
	behind_drop(&release->job);
	return error;
}

void release_forget(struct quire_release *release)
{
	pool_forget(&release->job);
}
