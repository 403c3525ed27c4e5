/* SPDX-License-Identifier: MIT */
/* Helpers and their jobs.  See pool.h for the picture and [P1]-[P6]. */
#include "os/pool.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "os/lock.h"
#include "os/os.h"

#define IDLE_MS 1000
/* How long an answer about busy CPUs is believed. */
#define LOOK_MS	   4
#define NR_HELPERS (POOL_MAX - 1)

enum side_kind { FRONT, BACK, NR_SIDES };

enum helper_state {
	HELPER_NONE,
	HELPER_RUNS,
	HELPER_ENDED, /* has left its loop; to be joined */
};

struct helper {
	struct os_thread thread;
	enum helper_state state;
	enum side_kind kind;  /* const while it runs */
	bool leave;	      /* asked to end */
	bool joined;	      /* by pool_stop, right now */
	uint64_t last_serial; /* own: the job it did a slice of last */
};

struct side {
	struct list jobs; /* oldest first */
	struct helper helper[NR_HELPERS];
	unsigned int nr_running;
	unsigned int nr_parked; /* of these, waiting for work */
	unsigned int nr_active; /* of these, in a slice */
	uint32_t bell;		/* atomic, futex: changes when there is work */
};

static struct pool {
	struct lock lock;
	struct side side[NR_SIDES];
	uint64_t serial;
	uint64_t nr_started, nr_refused;
} pool = {
	.lock = {.rank = RANK_POOL},
	.side = {
		[FRONT] = {.jobs = {&pool.side[FRONT].jobs,
				    &pool.side[FRONT].jobs}},
		[BACK] = {.jobs = {&pool.side[BACK].jobs,
				   &pool.side[BACK].jobs}},
	},
};

const void *pool_this_thread(void)
{
	static __thread char mark;

	return &mark;
}

/* How many threads */

unsigned int pool_threads(size_t nr_slices, unsigned int max,
			  unsigned int nr_cpus, unsigned int nr_busy)
{
	unsigned int n = max && max < POOL_MAX ? max : POOL_MAX;
	unsigned int nr_free = nr_busy < nr_cpus ? nr_cpus - nr_busy : 1;

	n = n < nr_free ? n : nr_free;
	if (nr_slices < n)
		n = (unsigned int)nr_slices;
	return n ? n : 1;
}

unsigned int pool_busy(unsigned int running, unsigned int ours)
{
	return running > ours ? running - ours : 0;
}

/* "2.03 1.73 1.33 2/103 527": the number before the slash */
unsigned int pool_parse_running(const char *text)
{
	const char *at = text;
	unsigned int n = 0;

	while (*at && *at != '/')
		at++;
	if (!*at)
		return 0;
	while (at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	for (; *at != '/' && n < 1u << 20; at++)
		n = n * 10 + (unsigned int)(*at - '0');
	return n;
}

static unsigned int read_running(void)
{
	char text[128];

	if (os->read_file("/proc/loadavg", text, sizeof(text)) <= 0)
		return 0;
	return pool_parse_running(text);
}

/* Hiring */

static void ring_locked(struct side *side)
{
	__atomic_fetch_add(&side->bell, 1, __ATOMIC_RELEASE);
	os->wake(&side->bell);
}

static void helper_main(void *arg);

/* An ended helper is joined only where no other place is free: one of idle
 * priority may be long in leaving. */
static struct helper *free_helper_locked(struct side *side)
{
	struct helper *ended = NULL;

	for (int i = 0; i < NR_HELPERS; i++) {
		struct helper *helper = &side->helper[i];

		if (helper->state == HELPER_NONE)
			return helper;
		if (helper->state == HELPER_ENDED && !helper->joined)
			ended = helper;
	}
	if (ended)
		os->thread_join(&ended->thread);
	return ended;
}

static bool start_locked(enum side_kind kind)
{
	struct side *side = &pool.side[kind];
	struct helper *helper = free_helper_locked(side);

	if (!helper)
		return false;
	helper->kind = kind;
	helper->leave = false;
	helper->last_serial = 0;
	if (os->thread_start(kind == FRONT ? "quire/worker" : "quire/idle",
			     helper_main, helper, &helper->thread)) {
		helper->state = HELPER_NONE;
		pool.nr_refused++;
		return false;
	}
	helper->state = HELPER_RUNS;
	side->nr_running++;
	pool.nr_started++;
	return true;
}

/* @nr helpers wanted at once: wake those that sleep, start what is missing. */
static void hire_locked(enum side_kind kind, unsigned int nr)
{
	struct side *side = &pool.side[kind];

	if (CONFIG_UP || !nr)
		return;
	if (side->nr_parked)
		ring_locked(side);
	for (unsigned int have = side->nr_parked; have < nr; have++)
		if (side->nr_running == NR_HELPERS || !start_locked(kind))
			break;
}

/* Slices */

static bool has_slice(const struct pool_job *job)
{
	return job->state == JOB_WAITS && !job->stopped &&
	       job->next < job->nr_slices;
}

static bool all_done(const struct pool_job *job)
{
	return !job->active && !has_slice(job);
}

static void end_locked(struct pool_job *job)
{
	job->state = JOB_ENDED;
	list_remove(&job->link);
	job->word++;
	/* Under the lock, so that the job is still there: [P3] */
	os->wake(&job->word);
}

/*
 * Finish back jobs that are done, as long as the oldest is: [P2].  While one is
 * finishing it stays the oldest, so there is one finisher at a time.
 */
static void retire_locked(void)
{
	struct side *side = &pool.side[BACK];

	while (!list_empty(&side->jobs)) {
		struct pool_job *job =
			container_of(side->jobs.next, struct pool_job, link);
		if (job->state != JOB_WAITS || !all_done(job))
			return;
		job->state = JOB_FINISHING;
		lock_release(&pool.lock);
		STEP("pool: about to finish");
		uint64_t before = os->thread_ns();
		job->body->finish(job);
		uint64_t cpu_ns = os->thread_ns() - before;
		lock_take(&pool.lock);
		job->cpu_ns += cpu_ns;
		bool forgotten = job->forgotten;
		end_locked(job);
		if (!forgotten)
			continue;
		lock_release(&pool.lock);
		job->body->drop(job);
		lock_take(&pool.lock);
	}
}

static void account_locked(struct pool_job *job, size_t nr, int error,
			   uint64_t cpu_ns)
{
	job->active--;
	job->nr_done++;
	job->cpu_ns += cpu_ns;
	if (!error)
		return;
	if (nr < job->failed_at) {
		job->failed_at = nr;
		job->error = error;
	}
	if (!job->keep_going)
		job->stopped = true;
}

static enum side_kind kind_of(const struct pool_job *job)
{
	return job->body->finish ? BACK : FRONT;
}

/* The caller of pool_run looks, and for back jobs any helper. */
static bool should_look(const struct pool_job *job, const struct helper *helper)
{
	return !CONFIG_UP && job->max_threads != 1 &&
	       (kind_of(job) == BACK || !helper) &&
	       os->now_ms() >= job->looked_ms + LOOK_MS;
}

/*
 * /proc/loadavg tells who runs this very moment, some thread of the kernel
 * included, so one answer is no reason to send a helper away (it would cost a
 * whole slice's worth of help): two in a row are.
 */
static unsigned int believe(struct pool_job *job, unsigned int threads)
{
	bool fewer = threads < job->wanted;
	unsigned int believed =
		fewer && !job->looked_fewer ? job->wanted : threads;

	job->looked_fewer = fewer;
	return believed;
}

/*
 * Look again at what others leave free.  Helpers beyond that find no slice; if
 * there is more room, more are hired.  The job must not go away meanwhile: the
 * caller has counted itself as active.
 */
static void look_locked(struct pool_job *job, const struct helper *helper)
{
	unsigned int ours, running, threads;

	job->looked_ms = os->now_ms();
	ours = pool.side[FRONT].nr_active + pool.side[BACK].nr_active + !helper;
	lock_release(&pool.lock);
	running = read_running();
	threads = pool_threads(job->nr_slices, job->max_threads, os->nr_cpus(),
			       pool_busy(running, ours));
	lock_take(&pool.lock);
	job->wanted = believe(job, threads);
	if (job->wanted > job->active)
		hire_locked(kind_of(job), job->wanted - job->active);
}

static void enter_slice_locked(struct pool_job *job, struct helper *helper,
			       uint64_t *last_serial)
{
	job->active++;
	if (*last_serial != job->serial)
		job->nr_threads++;
	*last_serial = job->serial;
	if (helper)
		pool.side[helper->kind].nr_active++;
	if (should_look(job, helper))
		look_locked(job, helper);
}

static void leave_slice_locked(struct pool_job *job, struct helper *helper)
{
	if (helper) {
		pool.side[helper->kind].nr_active--;
		job->nr_helped++;
	}
	if (kind_of(job) == BACK) {
		retire_locked();
	} else if (all_done(job)) {
		job->word++;
		os->wake(&job->word);
	}
}

/* One slice, the lock given up meanwhile; afterwards the job may be gone. */
static void do_slice_locked(struct pool_job *job, struct helper *helper,
			    uint64_t *last_serial)
{
	size_t nr = job->next++;

	enter_slice_locked(job, helper, last_serial);
	lock_release(&pool.lock);
	STEP("pool: slice handed out");
	uint64_t before = os->thread_ns();
	int error = job->body->slice(job, nr);
	uint64_t cpu_ns = os->thread_ns() - before;
	STEP("pool: slice done, not counted");
	lock_take(&pool.lock);
	account_locked(job, nr, error, cpu_ns);
	leave_slice_locked(job, helper);
}

/* Helpers */

static struct pool_job *job_for_helper(struct side *side)
{
	list_for_each (item, &side->jobs) {
		struct pool_job *job =
			container_of(item, struct pool_job, link);

		if (has_slice(job) && job->active < job->wanted)
			return job;
	}
	return NULL;
}

/* Sleep until there is news; false when there was none for a long time. */
static bool park_locked(struct side *side)
{
	uint32_t bell = load_relaxed(&side->bell);

	side->nr_parked++;
	lock_release(&pool.lock);
	os->wait(&side->bell, bell, IDLE_MS);
	lock_take(&pool.lock);
	side->nr_parked--;
	return load_relaxed(&side->bell) != bell;
}

static void helper_main(void *arg)
{
	struct helper *helper = arg;
	struct side *side;
	struct pool_job *job;

	if (helper->kind == BACK)
		os->background();
	lock_take(&pool.lock);
	side = &pool.side[helper->kind];
	for (;;) {
		job = job_for_helper(side);
		if (job) {
			do_slice_locked(job, helper, &helper->last_serial);
			continue;
		}
		/* Who is asked to leave still does what came meanwhile. */
		if (helper->leave || !park_locked(side))
			if (!job_for_helper(side))
				break;
	}
	side->nr_running--;
	helper->state = HELPER_ENDED;
	lock_release(&pool.lock);
}

/* Front */

static void enter_locked(enum side_kind kind, struct pool_job *job)
{
	job->state = JOB_WAITS;
	job->owner = pool_this_thread();
	job->serial = ++pool.serial;
	job->next = job->nr_done = job->nr_helped = 0;
	job->failed_at = SIZE_MAX;
	job->error = 0;
	job->stopped = job->forgotten = false;
	job->active = job->nr_threads = 0;
	job->looked_ms = 0;
	job->looked_fewer = false;
	job->cpu_ns = 0;
	list_add_tail(&pool.side[kind].jobs, &job->link);
}

static void sleep_locked(struct pool_job *job)
{
	uint32_t word = job->word;

	lock_release(&pool.lock);
	os->wait(&job->word, word, UINT64_MAX);
	lock_take(&pool.lock);
}

static void ask_between_locked(struct pool_job *job)
{
	size_t nr_done = job->nr_done;
	bool stop;

	if (!job->body->between)
		return;
	lock_release(&pool.lock);
	stop = job->body->between(job, nr_done);
	lock_take(&pool.lock);
	if (stop)
		job->stopped = true;
}

int pool_run(struct pool_job *job)
{
	uint64_t last_serial = 0;

	lock_take(&pool.lock);
	enter_locked(FRONT, job);
	job->wanted = 1;
	while (has_slice(job)) {
		do_slice_locked(job, NULL, &last_serial);
		ask_between_locked(job);
	}
	while (!all_done(job))
		sleep_locked(job);
	end_locked(job);
	lock_release(&pool.lock);
	return job->error;
}

/* Back */

int pool_submit(struct pool_job *job)
{
	struct side *side = &pool.side[BACK];
	int error = 0;

	lock_take(&pool.lock);
	enter_locked(BACK, job);
	/* More come when the first one has looked at the machine. */
	job->wanted = 1;
	hire_locked(BACK, 1);
	if (!side->nr_running)
		error = -EAGAIN;
	lock_release(&pool.lock);
	return error;
}

bool pool_ended(struct pool_job *job)
{
	bool ended;

	lock_take(&pool.lock);
	ended = job->state == JOB_ENDED;
	lock_release(&pool.lock);
	return ended;
}

/* The first slice of the list up to @last. */
static struct pool_job *job_for_waiter(struct pool_job *last)
{
	list_for_each (item, &pool.side[BACK].jobs) {
		struct pool_job *job =
			container_of(item, struct pool_job, link);

		if (has_slice(job))
			return job;
		if (job == last)
			break;
	}
	return NULL;
}

void pool_wait(struct pool_job *job)
{
	struct pool_job *other;
	uint64_t last_serial = 0;

	lock_take(&pool.lock);
	while (job->state != JOB_ENDED) {
		other = job_for_waiter(job);
		if (other)
			do_slice_locked(other, NULL, &last_serial);
		else
			sleep_locked(job);
	}
	lock_release(&pool.lock);
}

void pool_forget(struct pool_job *job)
{
	bool ended;

	lock_take(&pool.lock);
	job->forgotten = true;
	ended = job->state == JOB_ENDED;
	lock_release(&pool.lock);
	if (ended)
		job->body->drop(job);
}

void pool_peek(struct pool_job *job, struct pool_job *copy)
{
	lock_take(&pool.lock);
	*copy = *job;
	lock_release(&pool.lock);
}

/* The end of helpers */

static void ask_to_leave_locked(struct side *side)
{
	for (int i = 0; i < NR_HELPERS; i++)
		side->helper[i].leave = true;
	ring_locked(side);
}

static unsigned int note_joined_locked(struct side *side,
				       struct helper *joined[])
{
	unsigned int nr = 0;

	for (int i = 0; i < NR_HELPERS; i++) {
		struct helper *helper = &side->helper[i];

		if (helper->state == HELPER_NONE || helper->joined)
			continue;
		helper->joined = true;
		joined[nr++] = helper;
	}
	return nr;
}

/* Joined outside the lock, because a helper needs it to leave. */
void pool_stop(bool wait_for_idle)
{
	struct helper *joined[NR_SIDES * NR_HELPERS];
	unsigned int nr = 0;

	lock_take(&pool.lock);
	for (int kind = 0; kind < NR_SIDES; kind++) {
		struct side *side = &pool.side[kind];

		if (!list_empty(&side->jobs))
			continue;
		ask_to_leave_locked(side);
		if (kind == FRONT || wait_for_idle)
			nr += note_joined_locked(side, joined + nr);
	}
	lock_release(&pool.lock);
	for (unsigned int i = 0; i < nr; i++)
		os->thread_join(&joined[i]->thread);
	lock_take(&pool.lock);
	for (unsigned int i = 0; i < nr; i++)
		*joined[i] = (struct helper){ .state = HELPER_NONE };
	lock_release(&pool.lock);
}

unsigned int pool_nr_helpers(void)
{
	unsigned int nr;

	lock_take(&pool.lock);
	nr = pool.side[FRONT].nr_running + pool.side[BACK].nr_running;
	lock_release(&pool.lock);
	return nr;
}

uint64_t pool_nr_refused(void)
{
	return load_relaxed(&pool.nr_refused);
}

uint64_t pool_nr_started(void)
{
	return load_relaxed(&pool.nr_started);
}

/* Fork */

void pool_fork_prepare(void)
{
	lock_take(&pool.lock);
}

void pool_fork_parent(void)
{
	lock_release(&pool.lock);
}

static void begin_anew(struct pool_job *job)
{
	job->state = JOB_WAITS;
	job->next = job->nr_done = job->nr_helped = 0;
	job->failed_at = SIZE_MAX;
	job->error = 0;
	job->stopped = false;
	job->active = 0;
	job->wanted = 1;
}

static void reset_side(struct side *side)
{
	for (int i = 0; i < NR_HELPERS; i++)
		side->helper[i] = (struct helper){ .state = HELPER_NONE };
	side->nr_running = side->nr_parked = side->nr_active = 0;
}

void pool_fork_child(void)
{
	struct list *jobs = &pool.side[FRONT].jobs, *next;

	lock_reset_in_child(&pool.lock);
	reset_side(&pool.side[FRONT]);
	reset_side(&pool.side[BACK]);
	for (struct list *item = jobs->next; item != jobs; item = next) {
		struct pool_job *job =
			container_of(item, struct pool_job, link);

		next = item->next;
		if (job->owner == pool_this_thread())
			begin_anew(job);
		else
			list_remove(item);
	}
	list_for_each (item, &pool.side[BACK].jobs)
		begin_anew(container_of(item, struct pool_job, link));
}

/* Check */

static void check_job(const struct pool_job *job, enum side_kind kind)
{
	ASSERT(job->state != JOB_ENDED);
	ASSERT(kind_of(job) == kind);
	ASSERT(job->next <= job->nr_slices);
	ASSERT(job->nr_done + job->active == job->next);
	ASSERT(job->nr_helped <= job->nr_done);
	ASSERT(!job->error == (job->failed_at == SIZE_MAX));
}

static unsigned int check_jobs(struct side *side, enum side_kind kind)
{
	unsigned int active = 0;
	uint64_t last = 0;

	list_for_each (item, &side->jobs) {
		const struct pool_job *job =
			container_of(item, struct pool_job, link);

		check_job(job, kind);
		ASSERT(job->serial > last); /* [P1] */
		last = job->serial;
		active += job->active;
	}
	return active;
}

void pool_check(void)
{
	lock_take(&pool.lock);
	for (int kind = 0; kind < NR_SIDES; kind++) {
		struct side *side = &pool.side[kind];
		unsigned int running = 0;

		for (int i = 0; i < NR_HELPERS; i++)
			running += side->helper[i].state == HELPER_RUNS;
		ASSERT(running == side->nr_running);
		ASSERT(side->nr_parked + side->nr_active <= running);
		ASSERT(check_jobs(side, (enum side_kind)kind) >=
		       side->nr_active);
	}
	lock_release(&pool.lock);
}
