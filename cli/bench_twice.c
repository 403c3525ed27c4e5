/* SPDX-License-Identifier: MIT */
/*
 * Groups that read more than their limit, each twice: the child of `quire bench
 * readtwice`.
 *
 *	quire bench .twice group|node GROUPS SECONDS
 *
 *	ring of a group	[........##########........................]
 *			  pages that are there ^ one reader  ^ or the other
 *
 * A group has a limit of READTWICE_LIMIT pages, a ring of READTWICE_RING, and
 * two readers, each a thread, that go round it without end.  The first to reach
 * a place of the ring brings its page: allocated, charged, filled, added to the
 * inactive list, touched once.  The other one finds it, holds it while it
 * looks, and touches it a second time, which makes it active.  The group's own
 * limit has others dropped for it.
 *
 * [T1] The readers of a group are at most two chunks apart, a quarter of the
 *	limit: what one brought, the other still finds.  Without that, where
 *	there are more readers than CPUs, each would find nothing but its own.
 * [T2] A place is empty, BUSY while somebody brings its page, or a page.  It
 *	becomes a page before that page is added, so that a drop always finds
 *	it there.
 * [T3] A page says which group and place it is of.  A reader that finds
 *	something else ends the run.
 *
 * A touch is one page that one reader looked at.  The rate is that of a reader,
 * the mean of all.  Nothing counts until all readers have gone round once.
 */
#include "bench_groups.h"
#include "bench_readtwice.h"
#include "cli.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = READTWICE_LIMIT / 8, AHEAD = 2, LINE = 128 };

#define BUSY ((uintptr_t)1)

struct reader {
	_Alignas(LINE) atomic_ulong touches; /* the reader writes */
	atomic_ulong hits;
	atomic_int bad; /* errno */
	/* const after start */
	unsigned int group;
	struct reader *other;
	pthread_t thread;
	sem_t chunks; /* that it may read; its partner posts */
};

static struct {
	struct pool pool;
	atomic_uintptr_t *ring; /* READTWICE_RING of each group */
	struct reader *reader;
	unsigned int nr_readers; /* that were started */
	unsigned int nr_groups;
	enum quire_lru_lock lru_lock;
	atomic_bool stop;
	atomic_bool lost; /* a page was dropped that was not in its place */
} twice;

static void drop(void *arg, void *page, uint64_t key)
{
	uintptr_t expected = (uintptr_t)page;

	(void)arg;
	if (!atomic_compare_exchange_strong(&twice.ring[key], &expected, 0))
		atomic_store(&twice.lost, true); /* [T2] */
}

static void one_more(atomic_ulong *n)
{
	/* nobody else writes it */
	atomic_store_explicit(n,
			      atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* The place is BUSY, and ours. */
static int bring(const struct reader *r, uint64_t key)
{
	struct quire_groups *groups = twice.pool.groups;
	uint64_t *page = pool_page(&twice.pool, r->group, key);
	int error = errno;

	if (!page) {
		atomic_store(&twice.ring[key], 0);
		return error;
	}
	*page = key;
	quire_group_page_touch(groups, page);
	atomic_store(&twice.ring[key], (uintptr_t)page);
	return -quire_group_page_add(groups, page);
}

/* It may be gone, or another's, before there is a reference: look again. */
static int look(struct reader *r, uint64_t key, uintptr_t seen, bool *done)
{
	struct quire_groups *groups = twice.pool.groups;
	uint64_t *page = (uint64_t *)seen;
	int error = 0;

	*done = false;
	if (quire_group_page_get(groups, page)) {
		sched_yield(); /* to whoever drops it */
		return 0;
	}
	if (atomic_load(&twice.ring[key]) == seen) {
		*done = true;
		one_more(&r->hits);
		if (*page != key)
			error = EBADMSG; /* [T3] */
		quire_group_page_touch(groups, page);
	}
	quire_group_page_put(groups, page);
	return error;
}

static int read_page(struct reader *r, uint64_t key)
{
	bool done = false;
	uintptr_t seen;
	int error = 0;

	while (!done && !error) {
		seen = atomic_load(&twice.ring[key]);
		if (seen > BUSY) {
			error = look(r, key, seen, &done);
		} else if (seen == BUSY) {
			sched_yield(); /* to whoever brings it */
		} else if (atomic_compare_exchange_strong(&twice.ring[key],
							  &seen, BUSY)) {
			error = bring(r, key);
			done = true;
		}
	}
	one_more(&r->touches);
	return error;
}

static void *run_reader(void *arg)
{
	struct reader *r = arg;
	uint64_t base = (uint64_t)r->group * READTWICE_RING, at = 0;
	int error = 0, i;

	while (!atomic_load(&twice.stop) && !error) {
		while (sem_wait(&r->chunks))
			;
		for (i = 0; i < CHUNK && !error; i++) {
			error = read_page(r, base + at);
			at = (at + 1) % READTWICE_RING;
		}
		sem_post(&r->other->chunks);
	}
	atomic_store(&r->bad, error);
	sem_post(&r->other->chunks); /* so that it sees `stop` */
	return NULL;
}

/* ---- the run ---- */

struct totals {
	uint64_t ns;
	struct pool_locks locks;
	unsigned long hits;
	unsigned long *touches; /* of each reader */
};

static void take_totals(struct totals *t)
{
	unsigned int i;

	t->hits = 0;
	for (i = 0; i < twice.nr_readers; i++) {
		t->touches[i] = atomic_load(&twice.reader[i].touches);
		t->hits += atomic_load(&twice.reader[i].hits);
	}
	pool_locks(&twice.pool, &t->locks);
	t->ns = bench_now_ns();
}

static void nap(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static bool all_round(void)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < twice.nr_readers; i++) {
		if (atomic_load(&twice.reader[i].bad))
			return true;
		all &= atomic_load(&twice.reader[i].touches) > READTWICE_RING;
	}
	return all;
}

static int start_readers(void)
{
	unsigned int nr = 2 * twice.nr_groups, i;
	int error = 0;

	for (i = 0; i < nr; i++) {
		twice.reader[i].group = i / 2;
		twice.reader[i].other = &twice.reader[i ^ 1];
		sem_init(&twice.reader[i].chunks, 0, AHEAD);
	}
	for (i = 0; i < nr && !error; i++) {
		error = pthread_create(&twice.reader[i].thread, NULL,
				       run_reader, &twice.reader[i]);
		twice.nr_readers += !error;
	}
	return error;
}

/* A reader whose partner was never started is told here. */
static int end_readers(void)
{
	unsigned int i;
	int error = 0;

	atomic_store(&twice.stop, true);
	for (i = 0; i < twice.nr_readers; i++) {
		sem_post(&twice.reader[i].chunks);
		pthread_join(twice.reader[i].thread, NULL);
		if (atomic_load(&twice.reader[i].bad))
			error = atomic_load(&twice.reader[i].bad);
	}
	return !error && atomic_load(&twice.lost) ? EBADMSG : error;
}

static int put_pages(void)
{
	size_t nr = (size_t)twice.nr_groups * READTWICE_RING, i;
	int rc = quire_groups_drain(twice.pool.groups);

	quire_groups_check(twice.pool.groups);
	for (i = 0; i < nr && !rc; i++)
		if (atomic_load(&twice.ring[i]))
			rc = quire_group_page_put(
				twice.pool.groups,
				(void *)atomic_load(&twice.ring[i]));
	return -rc;
}

static void answer(const struct totals *from, const struct totals *to)
{
	double seconds = (double)(to->ns - from->ns) * 1e-9, rate;
	double sum = 0, least = 0, most = 0;
	unsigned int i;

	for (i = 0; i < twice.nr_readers; i++) {
		rate = (double)(to->touches[i] - from->touches[i]) / seconds;
		sum += rate;
		least = i && least < rate ? least : rate;
		most = most > rate ? most : rate;
	}
	bench_answer("rate", sum / twice.nr_readers);
	bench_answer("rate_least", least);
	bench_answer("rate_most", most);
	sum *= seconds; /* touches now */
	bench_answer("hits", (double)(to->hits - from->hits) / sum);
	bench_answer("activated",
		     (double)(to->locks.activated - from->locks.activated) /
			     sum);
	bench_answer("lock_takes",
		     (double)(to->locks.takes - from->locks.takes) / sum);
	bench_answer("contended",
		     (double)(to->locks.contended - from->locks.contended) /
			     sum);
	bench_answer("lock_hold",
		     (double)(to->locks.hold_cycles - from->locks.hold_cycles) /
			     sum);
}

static int run(double seconds, struct totals *from, struct totals *to)
{
	struct pool_spec spec = { .pages = (size_t)twice.nr_groups *
					   READTWICE_LIMIT,
				  .memory = true,
				  .lru_lock = twice.lru_lock,
				  .nr_groups = twice.nr_groups,
				  .max = READTWICE_LIMIT,
				  .drop = drop };
	int error = pool_open(&twice.pool, &spec), late;

	if (!error)
		error = start_readers();
	while (!error && !all_round())
		nap(1e-3);
	if (!error) {
		take_totals(from);
		nap(seconds);
		take_totals(to);
	}
	late = end_readers();
	error = error ? error : late;
	if (!error)
		error = put_pages();
	late = pool_close(&twice.pool);
	return error ? error : late;
}

static int take_words(char **argv, double *seconds)
{
	uint64_t groups;
	char *end;

	*seconds = strtod(argv[3], &end);
	if (*end || !(*seconds > 0 && *seconds < 1e6) ||
	    text_number(argv[2], &groups) || groups < 1 ||
	    groups > READTWICE_GROUPS_MAX)
		return -EINVAL;
	twice.nr_groups = (unsigned int)groups;
	if (!strcmp(argv[1], "node"))
		twice.lru_lock = QUIRE_LRU_LOCK_NODE;
	else if (strcmp(argv[1], "group"))
		return -EINVAL;
	return 0;
}

static unsigned long *new_touches(void)
{
	return xcalloc(2 * (size_t)twice.nr_groups, sizeof(unsigned long));
}

int bench_twice(int argc, char **argv)
{
	struct totals from = { 0 }, to = { 0 };
	double seconds;
	int error;

	if (argc != 4 || take_words(argv, &seconds))
		return usage_error("bench: .twice group|node GROUPS SECONDS");
	twice.ring = xcalloc((size_t)twice.nr_groups * READTWICE_RING,
			     sizeof(*twice.ring));
	twice.reader = aligned_alloc(LINE, 2 * twice.nr_groups *
						   sizeof(*twice.reader));
	from.touches = new_touches();
	to.touches = new_touches();
	error = twice.reader ? 0 : ENOMEM;
	if (!error) {
		memset(twice.reader, 0,
		       2 * twice.nr_groups * sizeof(*twice.reader));
		error = run(seconds, &from, &to);
	}
	if (error)
		say("bench readtwice: %s", pool_error(error));
	else
		answer(&from, &to);
	free(from.touches);
	free(to.touches);
	free(twice.reader);
	free(twice.ring);
	return error ? CLI_OWN : 0;
}
