/* SPDX-License-Identifier: MIT */
/* Big work on a range: cut, handed to the pool, counted, told to the user. */
#include <errno.h>

#include "region/area.h"

struct range work_slice(const struct work_job *job, size_t nr)
{
	return job->cut.nr ? cut_slice(&job->cut, nr) : job->cut.range;
}

/* From the start of the range: what is surely done. */
static size_t bytes_done(const struct pool_job *job, const struct cut *cut)
{
	size_t nr = job->failed_at < job->next ? job->failed_at : job->next;

	if (nr >= job->nr_slices)
		return cut->range.end - cut->range.first;
	return cut_slice(cut, nr).first - cut->range.first;
}

void work_report(struct quire_work *work, const struct pool_job *job,
		 const struct cut *cut)
{
	if (!work)
		return;
	work->workers_used = job->nr_threads;
	work->bytes_done = bytes_done(job, cut);
	work->nr_slices = cut->nr;
	work->nr_helped = job->nr_helped;
	work->cpu_ns = job->cpu_ns;
}

bool work_between(struct pool_job *pool_job, size_t nr_done)
{
	struct work_job *job = container_of(pool_job, struct work_job, job);
	size_t bytes = job->cut.range.end - job->cut.range.first;
	size_t done;

	if (!job->work || !job->work->progress)
		return false;
	if (__builtin_mul_overflow(nr_done, job->cut.slice_bytes, &done) ||
	    done > bytes || nr_done == pool_job->nr_slices)
		done = bytes;
	job->told_all = done == bytes;
	job->cancelled = job->work->progress(done, bytes, job->work->arg) &&
			 !job->told_all;
	return job->cancelled;
}

/* Below the floor: no pool, and no clock unless somebody asks. */
static int run_alone(struct work_job *job)
{
	uint64_t before = job->work ? os->thread_ns() : 0;
	int error = job->job.body->slice(&job->job, 0);

	if (!job->work)
		return error;
	job->work->cpu_ns = os->thread_ns() - before;
	job->work->workers_used = 1;
	if (!error)
		job->work->bytes_done =
			job->cut.range.end - job->cut.range.first;
	return error;
}

static int run_in_slices(struct work_job *job)
{
	struct quire_work *work = job->work;
	int error;

	job->job.nr_slices = job->cut.nr;
	job->job.max_threads = work ? work->workers : 0;
	error = pool_run(&job->job);
	area_count(QUIRE_COUNTER_region_slices, job->job.nr_done);
	area_count(QUIRE_COUNTER_region_helped, job->job.nr_helped);
	work_report(work, &job->job, &job->cut);
	if (error)
		return error;
	if (job->cancelled && job->job.nr_done < job->cut.nr)
		return -ECANCELED;
	if (!job->told_all) /* a helper's slice was the last */
		work_between(&job->job, job->cut.nr);
	return 0;
}

int work_run(struct work_job *job, struct quire_region *region,
	     struct range range, enum cut_kind kind)
{
	struct quire_work *work = job->work;

	job->region = region;
	job->cut = cut_range(range, kind, area_huge(region));
	job->cancelled = job->told_all = false;
	if (work) {
		work->workers_used = 0;
		work->bytes_done = work->nr_slices = work->nr_helped = 0;
		work->cpu_ns = 0;
	}
	return job->cut.nr ? run_in_slices(job) : run_alone(job);
}
