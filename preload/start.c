/* SPDX-License-Identifier: MIT */
/*
 * Start, fork and end of the preload library.
 *
 * Start comes in two steps, because an allocation may come before anything
 * else in the process: the next library is found at the first call, the store
 * is opened as soon as there is an environment.  The rest (the record of the
 * process, fork handlers) waits for our constructor.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "exit.h"
#include "next.h"
#include "preload.h"
#include "region/keeper.h"
#include "settings.h"
#include "sources.h"
#include "stat/page.h"

struct store store;
size_t threshold = SIZE_MAX;

static struct settings settings;
static bool store_tried;

/*
 * A process ends with its last thread, and the helper thread is one.  So when
 * the first thread ends while others go on (pthread_exit, or cancelled), there
 * is no helper from then on.  A thread key's destructor tells.
 */
static pthread_key_t first_thread;
static bool first_thread_watched;

static void first_thread_ends(void *mark)
{
	(void)mark;
	if (store_is_open())
		keeper_bar(&store);
}

/* In the first thread of a process: from the constructor and after fork. */
static void watch_first_thread(void)
{
	if (first_thread_watched)
		pthread_setspecific(first_thread, &first_thread);
}

/*
 * fork is async-signal-safe: it may come from a handler that interrupted us
 * with a lock held, or a fork.  No lock is waited for then; in the child the
 * interrupted code goes on and releases what it holds.
 */
static __thread unsigned int interrupting_forks
	__attribute__((tls_model("initial-exec")));

/* They are registered even before there is a store. */
void preload_fork_prepare(void)
{
	if (lock_holds_any())
		interrupting_forks++;
	else if (store_is_open()) {
		store_before_fork(&store);
		store_fork_prepare(&store);
	}
}

void preload_fork_parent(void)
{
	if (interrupting_forks)
		interrupting_forks--;
	else if (store_is_open())
		store_fork_parent(&store);
}

void preload_fork_child(void)
{
	if (interrupting_forks) {
		interrupting_forks--;
		store_fork_child_interrupted(&store);
	} else if (store_is_open() && store_fork_child(&store)) {
		threshold = 0;
	}
	watch_first_thread();
	stat_page_child();
}

void preload_child_allocates(void)
{
	threshold = settings.threshold;
	store_drop_inherited(&store);
}

/*
 * Our handlers must be those that are registered first: then they run last
 * before the fork and first after it, and nobody's handler, nor a thread that
 * one waits for, meets our locks.  So whoever registers starts us before.
 */
typedef int (*register_fn)(void (*)(void), void (*)(void), void (*)(void),
			   void *);
int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *dso);

static register_fn next_register(void)
{
	static register_fn found;
	void *symbol;

	if (!found) {
		symbol = next_symbol("__register_atfork",
				     (const void *)__register_atfork);
		memcpy(&found, &symbol, sizeof(symbol));
	}
	return found;
}

EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void),
			     void (*child)(void), void *dso)
{
	preload_start();
	return next_register()(prepare, parent, child, dso);
}

static void start_once(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	mapping_start();
	clone_start();
	next_register()(preload_fork_prepare, preload_fork_parent,
			preload_fork_child, NULL);
}

static void open_store(void)
{
	if (store_tried || !environ)
		return;
	store_tried = true;
	settings_read(&settings);
	if (store_open(&store, &settings.store))
		return;
	threshold = settings.threshold;
}

void preload_start(void)
{
	int saved = errno;

	next_find();
	start_once();
	open_store();
	errno = saved;
}

static void snapshot(uint64_t counter[QUIRE_NR_COUNTERS])
{
	store_snapshot(&store, counter);
	counter[QUIRE_COUNTER_bootstrap_bytes] = next_bootstrap_bytes();
}

/* At the 1st, 2nd, 4th, 8th … free of a thread, and each 4096th. */
void preload_tell(void)
{
	static __thread uint32_t frees
		__attribute__((tls_model("initial-exec")));
	uint64_t counter[QUIRE_NR_COUNTERS];

	if (!settings.stat_dir[0])
		return;
	frees++;
	if (!is_power_of_two(frees) && frees % 4096)
		return;
	snapshot(counter);
	stat_page_publish(counter);
}

/*
 * May come from a signal handler that interrupted us with a lock held: then the
 * counters stay as last published.
 */
static void tell_end(void)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	if (!store_is_open() || lock_holds_any()) {
		stat_page_end(NULL);
		return;
	}
	snapshot(counter);
	stat_page_end(counter);
}

__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	preload_start();
	first_thread_watched =
		!pthread_key_create(&first_thread, first_thread_ends);
	watch_first_thread();
	if (settings.stat_dir[0] &&
	    !stat_page_open(settings.stat_dir, QUIRE_LOADED_PRELOAD)) {
		note_sources((const void *)next.malloc);
		exit_watch(tell_end);
	}
	errno = saved;
}

__attribute__((destructor)) static void stop(void)
{
	if (settings.stat_dir[0])
		tell_end();
}
