/* SPDX-License-Identifier: MIT */
/*
 * Helper threads for long work that can be cut into slices.
 *
 *	pool_run ────> front jobs ─┬─ the caller
 *	                           └─ helpers "quire/worker"
 *	pool_submit ─> back jobs ──┬─ helpers "quire/idle", SCHED_IDLE
 *	                           └─ whoever waits for one (pool_wait)
 *
 * One pool for the process, because its bounds are about the process.  Front
 * and back have helpers of their own: a thread that went to SCHED_IDLE cannot
 * come back without privileges.
 *
 * [P1] A slice is done by one thread, once; slices are handed out in order, and
 *	jobs of a kind oldest first.
 * [P2] Back jobs end in the order in which they were submitted.
 * [P3] A job is not touched by the pool after the moment in which its waiter,
 *	holding the pool's lock, can see that it has ended.
 * [P4] Nothing needs a helper: pool_run's caller does every slice that nobody
 *	else does, and a back job that no helper can be had for is done by
 *	pool_wait.
 * [P5] There are never more helpers of a kind than POOL_MAX - 1, and none is
 *	hired for front work beyond the CPUs that others leave free; looked at
 *	again while the work goes on.
 * [P6] Helpers hold no descriptor and no lock over a slice, block all signals,
 *	and end after IDLE_MS without work.
 *
 * The pool's lock guards everything that is not said to be constant.  It is
 * held over starting a thread, but over no slice, no callback and no sleep.
 */
#ifndef OS_POOL_H
#define OS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* Threads that are ever put to one job, the caller included. */
#define POOL_MAX 8

struct pool_job;

struct pool_body {
	/* Slice @nr, 0 … nr_slices - 1: 0 or a negative errno. */
	int (*slice)(struct pool_job *job, size_t nr);
	/* Front only, may be NULL: the caller, between two slices of its own;
	 * true: hand out no more. */
	bool (*between)(struct pool_job *job, size_t nr_done);
	/* Back only: all slices are done; the job has not ended before this
	 * returned.  May run again in a forked child. */
	void (*finish)(struct pool_job *job);
	/* Back only: nobody waits (pool_forget); the job's memory is free. */
	void (*drop)(struct pool_job *job);
};

enum pool_state {
	JOB_WAITS,     /* in a list, slices left or in work */
	JOB_FINISHING, /* back: its finish runs */
	JOB_ENDED,
};

struct pool_job {
	/* set by the owner before, const while it runs */
	const struct pool_body *body;
	size_t nr_slices;
	unsigned int max_threads; /* POOL_MAX where 0 */
	bool keep_going;	  /* after a slice that failed */

	/* pool lock; the owner's after the end */
	struct list link;
	enum pool_state state;
	const void *owner; /* front: which thread runs it */
	uint64_t serial;
	size_t next; /* slice to be handed out */
	size_t nr_done;
	size_t nr_helped; /* of these, by helpers */
	size_t failed_at; /* first slice that failed, or SIZE_MAX */
	int error;	  /* of that slice */
	bool stopped;	  /* no more slices, for whatever reason */
	bool forgotten;
	unsigned int active;	 /* threads in a slice now */
	unsigned int wanted;	 /* threads that should be */
	unsigned int nr_threads; /* that did at least one */
	uint64_t looked_ms;
	bool looked_fewer; /* the last look saw fewer free CPUs than wanted */
	uint64_t cpu_ns;   /* of all of them together */
	uint32_t word;	   /* futex: changes when it ends */
};

/*
 * pool_run - do all slices of @job, with helpers; returns job->error, which is
 * that of the first slice that failed.  Slices before job->failed_at, or before
 * job->next if there is none, are done.
 */
int pool_run(struct pool_job *job);

/*
 * pool_submit - do it some time
 * -EAGAIN: it is in the list, but nobody is there to do it: call pool_wait.
 */
int pool_submit(struct pool_job *job);
/* Has it ended? */
bool pool_ended(struct pool_job *job);
/* Do what stands in the list before it, then it; return when it has ended. */
void pool_wait(struct pool_job *job);
/* Nobody will wait: body->drop is called, now or when it has ended. */
void pool_forget(struct pool_job *job);
/* What stands in the job, seen under the lock. */
void pool_peek(struct pool_job *job, struct pool_job *copy);

/*
 * Pure.  Threads to put to a job of @nr_slices, of which at most @max are
 * wanted (0: no wish), on @nr_cpus of which others keep @nr_busy busy.
 */
unsigned int pool_threads(size_t nr_slices, unsigned int max,
			  unsigned int nr_cpus, unsigned int nr_busy);
/* Pure.  What others keep busy: @running runnable threads, @ours of them ours;
 * 0 running stands for "not known". */
unsigned int pool_busy(unsigned int running, unsigned int ours);
/* Pure.  The runnable threads in the text of /proc/loadavg; 0 if not there. */
unsigned int pool_parse_running(const char *text);

/* Something of each thread's own, that stays the same in a forked child. */
const void *pool_this_thread(void);

/*
 * Helpers of a kind that has nothing to do end, and are joined; those of idle
 * priority, which may be long in leaving, only where that is asked for.
 */
void pool_stop(bool wait_for_idle);
/* Helpers there are now, and hires that failed since the start. */
unsigned int pool_nr_helpers(void);
uint64_t pool_nr_refused(void);
uint64_t pool_nr_started(void);

/*
 * Around fork, pool_fork_prepare last of all.  In the child there are no
 * helpers; back jobs begin anew with slice 0 (so slices must bear repetition);
 * front jobs of other threads are gone, those of the forking thread (which
 * forked in body->between) begin anew.
 */
void pool_fork_prepare(void);
void pool_fork_parent(void);
void pool_fork_child(void);

/* Panics where the lists and numbers disagree. */
void pool_check(void);

#endif /* OS_POOL_H */
