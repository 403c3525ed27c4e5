/* SPDX-License-Identifier: MIT */
/*
 * A system that writes down what is asked of it, has as many CPUs as a test
 * says, of which others keep as many busy as a test says, and in which discards
 * and populates can be held at a gate.
 */
#ifndef TESTS_UNIT_SPY_H
#define TESTS_UNIT_SPY_H

#include "region.h"

#include <pthread.h>
#include <sched.h>

#include "base/atomic.h"
#include "os/faulty.h"
#include "os/pool.h"

enum spy_what { SPY_DISCARD, SPY_POPULATE, SPY_UNMAP };

struct spy_note {
	enum spy_what what;
	uintptr_t address;
	size_t len;
	unsigned int begun, ended; /* numbers in one order of all events */
	unsigned long thread;
};

#define SPY_NOTES 4096

static struct {
	struct os_ops ops;
	const struct os_ops *base;
	unsigned int nr_cpus, running;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool closed; /* the gate */
	unsigned int at_gate;
	unsigned int clock;
	unsigned int nr;
	struct spy_note note[SPY_NOTES];
} spy = { .lock = PTHREAD_MUTEX_INITIALIZER,
	  .moved = PTHREAD_COND_INITIALIZER };

static inline struct spy_note *spy_begin(enum spy_what what, void *address,
					 size_t len)
{
	struct spy_note *note;

	pthread_mutex_lock(&spy.lock);
	/* The last one holds whatever is too much. */
	note = &spy.note[spy.nr];
	if (spy.nr < SPY_NOTES - 1)
		spy.nr++;
	*note = (struct spy_note){ what, (uintptr_t)address,
				   len,	 ++spy.clock,
				   0,	 (unsigned long)pthread_self() };
	if (what != SPY_UNMAP && spy.closed) {
		spy.at_gate++;
		pthread_cond_broadcast(&spy.moved);
		while (spy.closed)
			pthread_cond_wait(&spy.moved, &spy.lock);
		spy.at_gate--;
	}
	pthread_mutex_unlock(&spy.lock);
	return note;
}

static inline void spy_end(struct spy_note *note)
{
	pthread_mutex_lock(&spy.lock);
	note->ended = ++spy.clock;
	pthread_mutex_unlock(&spy.lock);
}

static inline int spy_advise(void *address, size_t len, enum os_advice advice)
{
	struct spy_note *note;
	int error;

	if (advice != OS_DISCARD && advice != OS_POPULATE)
		return spy.base->advise(address, len, advice);
	note = spy_begin(advice == OS_DISCARD ? SPY_DISCARD : SPY_POPULATE,
			 address, len);
	error = spy.base->advise(address, len, advice);
	spy_end(note);
	return error;
}

static inline int spy_unmap(void *address, size_t len)
{
	struct spy_note *note = spy_begin(SPY_UNMAP, address, len);
	int error = spy.base->unmap(address, len);

	spy_end(note);
	return error;
}

/* The thread sanitizer does not see that the kernel puts an unmap before the
 * map that gives the addresses out again: said by taking the lock in both. */
static inline int spy_map(size_t len, size_t align, void **out)
{
	int error = spy.base->map(len, align, out);

	pthread_mutex_lock(&spy.lock);
	pthread_mutex_unlock(&spy.lock);
	return error;
}

static inline unsigned int spy_nr_cpus(void)
{
	return spy.nr_cpus;
}

static inline long spy_read_file(const char *path, char *buf, size_t len)
{
	if (strcmp(path, "/proc/loadavg") != 0)
		return spy.base->read_file(path, buf, len);
	return snprintf(buf, len, "0.50 0.40 0.30 %u/123 4567\n",
			load_relaxed(&spy.running));
}

/* Over @base (os_kernel, or one that fails). */
static inline void spy_start(const struct os_ops *base)
{
	spy.base = base;
	spy.ops = *base;
	spy.ops.advise = spy_advise;
	spy.ops.unmap = spy_unmap;
	spy.ops.map = spy_map;
	spy.ops.nr_cpus = spy_nr_cpus;
	spy.ops.read_file = spy_read_file;
	spy.nr_cpus = 4;
	spy.running = 1;
	spy.closed = false;
	spy.nr = 0;
	os = &spy.ops;
}

static inline void spy_clear(void)
{
	pthread_mutex_lock(&spy.lock);
	spy.nr = 0;
	pthread_mutex_unlock(&spy.lock);
}

static inline void gate_close(void)
{
	pthread_mutex_lock(&spy.lock);
	spy.closed = true;
	pthread_mutex_unlock(&spy.lock);
}

static inline void gate_open(void)
{
	pthread_mutex_lock(&spy.lock);
	spy.closed = false;
	pthread_cond_broadcast(&spy.moved);
	pthread_mutex_unlock(&spy.lock);
}

/* Until @nr threads stand at the gate. */
static inline void gate_wait(unsigned int nr)
{
	pthread_mutex_lock(&spy.lock);
	while (spy.at_gate < nr)
		pthread_cond_wait(&spy.moved, &spy.lock);
	pthread_mutex_unlock(&spy.lock);
}

static inline unsigned int spy_nr(enum spy_what what)
{
	unsigned int nr = 0;

	pthread_mutex_lock(&spy.lock);
	for (unsigned int i = 0; i < spy.nr; i++)
		nr += spy.note[i].what == what;
	pthread_mutex_unlock(&spy.lock);
	return nr;
}

static inline unsigned int nr_tasks(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	unsigned int nr = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Threads: %u", &nr) == 1)
			break;
	fclose(file);
	return nr;
}

static inline void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

#endif /* TESTS_UNIT_SPY_H */
