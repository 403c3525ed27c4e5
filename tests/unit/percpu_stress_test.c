/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU lists under everything at once: threads that change CPUs, timer
 * signals whose handlers use the same lists, and one that closes lists of other
 * CPUs and empties them.
 *
 * Page numbers stand for pages.  owner[] says who has each one, and whoever
 * gets one from a list must find that the list had it: so a page that comes
 * out twice is seen at once, and one that is lost is missed at the end.
 */
#include "region.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/atomic.h"
#include "percpu/percpu.h"

#define NR_THREADS 4u
#define BAG_MAX	   256u
#define NR_PAGES   ((NR_THREADS + 1) * BAG_MAX / 2)
#define BATCH	   48u
#define TURNS	   (UNDER_SANITIZER ? 50000 : 400000)

enum {
	IN_LIST,
	TAKEN,
};

static const uint32_t entries[] = { 0, 512, 64 };
static struct percpu percpu;
static uint32_t owner[NR_PAGES]; /* atomic */
static uint32_t nr_running;	 /* atomic */
static uint32_t nr_handled;	 /* atomic, relaxed */
static cpu_set_t all_cpus;

struct bag {
	uint32_t nr;
	uint32_t pages[BAG_MAX];
	uint64_t random;
};

static void took(uint32_t page)
{
	ASSERT(page < NR_PAGES);
	ASSERT(exchange_acquire(&owner[page], TAKEN) == IN_LIST);
}

static void gives(uint32_t page)
{
	ASSERT(exchange_release(&owner[page], IN_LIST) == TAKEN);
}

static uint32_t some_list(uint64_t *random)
{
	return percpu.offset[1 + random_below(random, 2)];
}

static void pop_one(struct bag *bag, uint32_t offset)
{
	int64_t page;

	if (bag->nr == BAG_MAX)
		return;
	page = random_below(&bag->random, 2) ? slot_pop(&percpu, offset)
					     : percpu_pop(&percpu, offset);
	if (page < 0)
		return;
	took((uint32_t)page);
	bag->pages[bag->nr++] = (uint32_t)page;
}

static void push_one(struct bag *bag, uint32_t offset)
{
	uint32_t page;
	bool done;

	if (!bag->nr)
		return;
	page = bag->pages[bag->nr - 1];
	gives(page);
	done = random_below(&bag->random, 2)
		       ? slot_push(&percpu, offset, page)
		       : percpu_push(&percpu, offset, page);
	if (done)
		bag->nr--;
	else
		took(page);
}

static void pop_many(struct bag *bag, uint32_t offset)
{
	uint32_t room = BAG_MAX - bag->nr;
	uint32_t nr = (uint32_t)random_below(&bag->random, BATCH);
	uint32_t *to = bag->pages + bag->nr;

	if (nr > room)
		nr = room;
	nr = random_below(&bag->random, 2)
		     ? percpu_pop_batch(&percpu, offset, to, nr)
		     : percpu_pop_oldest(&percpu, offset, to, nr);
	for (uint32_t i = 0; i < nr; i++)
		took(to[i]);
	bag->nr += nr;
}

static void push_many(struct bag *bag, uint32_t offset)
{
	uint32_t nr = (uint32_t)random_below(&bag->random, BATCH), done;
	const uint32_t *from;

	if (nr > bag->nr)
		nr = bag->nr;
	from = bag->pages + bag->nr - nr;
	for (uint32_t i = 0; i < nr; i++)
		gives(from[i]);
	done = percpu_push_batch(&percpu, offset, from, nr);
	for (uint32_t i = done; i < nr; i++)
		took(from[i]);
	memmove(bag->pages + bag->nr - nr, from + done,
		(nr - done) * sizeof(*from));
	bag->nr -= done;
}

static void one_turn(struct bag *bag)
{
	uint32_t offset = some_list(&bag->random);

	switch (random_below(&bag->random, 6)) {
	case 0:
	case 1:
		pop_one(bag, offset);
		break;
	case 2:
	case 3:
		push_one(bag, offset);
		break;
	case 4:
		pop_many(bag, offset);
		break;
	default:
		push_many(bag, offset);
	}
}

/* The handler's own; NULL: it does nothing. */
static __thread struct bag *handlers_bag;

static void on_timer(int signal)
{
	int saved = errno;

	(void)signal;
	for (int i = 0; handlers_bag && i < 8; i++)
		one_turn(handlers_bag);
	add_relaxed(&nr_handled, 1);
	errno = saved;
}

static void go_to_some_cpu(uint64_t *random)
{
	cpu_set_t one;
	uint64_t nth = random_below(random, (uint64_t)CPU_COUNT(&all_cpus));
	int cpu;

	for (cpu = 0;; cpu++)
		if (CPU_ISSET(cpu, &all_cpus) && !nth--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static timer_t start_timer(void)
{
	struct itimerspec every = {
		.it_interval = { 0, UNDER_SANITIZER ? 1000000 : 100000 },
		.it_value = { 0, 100000 },
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGUSR1,
	};
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	ASSERT(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	ASSERT(!timer_settime(timer, 0, &every, NULL));
	return timer;
}

/* bag[1] is the handler's. */
static void *worker(void *arg)
{
	struct bag *bag = arg;
	timer_t timer;

	handlers_bag = bag + 1;
	timer = start_timer();
	for (int i = 0; i < TURNS; i++) {
		one_turn(bag);
		if (i % 1000 == 0)
			go_to_some_cpu(&bag->random);
	}
	timer_delete(timer);
	handlers_bag = NULL;
	add_relaxed(&nr_running, -1u);
	return NULL;
}

static void take_some(struct bag *bag, uint32_t cpu)
{
	for (uint32_t list = 1; list < ARRAY_SIZE(entries); list++) {
		struct slot *slot =
			percpu_slot(&percpu, cpu, percpu.offset[list]);
		uint32_t *to = bag->pages + bag->nr, before, nr;

		before = slot_count(slot);
		nr = (uint32_t)random_below(&bag->random, BATCH);
		if (nr > BAG_MAX - bag->nr)
			nr = BAG_MAX - bag->nr;
		nr = slot_take_closed(slot, to, nr);
		ASSERT(slot_count(slot) == before - nr);
		for (uint32_t i = 0; i < nr; i++)
			took(to[i]);
		bag->nr += nr;
	}
}

static void close_some(struct bag *bag)
{
	uint32_t cpu = (uint32_t)random_below(&bag->random, percpu.nr_cpus);
	bool all = random_below(&bag->random, 4) == 0;

	ASSERT(!(all ? percpu_close_all(&percpu) : percpu_close(&percpu, cpu)));
	take_some(bag, cpu);
	for (uint32_t i = 0; i < percpu.nr_cpus; i++)
		if (all || i == cpu)
			percpu_open(&percpu, i);
}

static void limits(uint64_t *random)
{
	for (uint32_t list = 1; list < ARRAY_SIZE(entries); list++) {
		struct slot *slot = percpu_here(&percpu, percpu.offset[list]);

		percpu_set_limit(slot, 1 + (uint32_t)random_below(
						   random, slot_room(slot)));
	}
}

static void *closer(void *arg)
{
	struct bag *bag = arg;

	while (load_relaxed(&nr_running)) {
		close_some(bag);
		limits(&bag->random);
		push_many(bag, some_list(&bag->random));
		go_to_some_cpu(&bag->random);
	}
	return NULL;
}

#define NR_BAGS (2 * NR_THREADS + 1)

/* Threads and the closer begin with a half-full bag, handlers with none. */
static void share_out(struct bag *bags)
{
	uint32_t page = 0;

	for (uint32_t i = 0; i < NR_BAGS; i++) {
		bags[i] = (struct bag){ .random = i + 1 };
		while (i % 2 == 0 && bags[i].nr < BAG_MAX / 2)
			bags[i].pages[bags[i].nr++] = page++;
	}
	assert_int_equal(page, NR_PAGES);
	for (page = 0; page < NR_PAGES; page++)
		owner[page] = TAKEN;
}

static void count_bag(const struct bag *bag, uint8_t *seen)
{
	for (uint32_t i = 0; i < bag->nr; i++) {
		ASSERT(owner[bag->pages[i]] == TAKEN);
		assert_int_equal(seen[bag->pages[i]]++, 0);
	}
}

static void count_lists(uint8_t *seen)
{
	uint32_t page;

	assert_int_equal(percpu_close_all(&percpu), 0);
	percpu_check(&percpu);
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		for (uint32_t list = 1; list < ARRAY_SIZE(entries); list++)
			while (slot_take_closed(
				percpu_slot(&percpu, cpu, percpu.offset[list]),
				&page, 1))
				assert_int_equal(seen[page]++, 0);
}

static void run_threads(struct bag *bags)
{
	pthread_t threads[NR_THREADS + 1];

	nr_running = NR_THREADS;
	for (uint32_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, worker, &bags[2 * i]),
			0);
	assert_int_equal(pthread_create(&threads[NR_THREADS], NULL, closer,
					&bags[2 * NR_THREADS]),
			 0);
	for (uint32_t i = 0; i <= NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void stress(enum percpu_mode mode)
{
	static struct bag bags[NR_BAGS];
	uint8_t seen[NR_PAGES] = { 0 };

	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, mode), 0);
	if (percpu.mode != mode) {
		percpu_destroy(&percpu);
		skip();
	}
	share_out(bags);
	run_threads(bags);
	for (uint32_t i = 0; i < NR_BAGS; i++)
		count_bag(&bags[i], seen);
	count_lists(seen);
	for (uint32_t page = 0; page < NR_PAGES; page++)
		assert_int_equal(seen[page], 1);
	print_message(
		"%u signals, %llu passed by, %llu given up, %llu closed\n",
		nr_handled, (unsigned long long)percpu.nr_bypass,
		(unsigned long long)percpu.nr_aborted,
		(unsigned long long)percpu.nr_remote);
	percpu_destroy(&percpu);
}

static void sections_lose_nothing(void **state)
{
	(void)state;
	stress(PERCPU_RSEQ);
}

static void locks_lose_nothing(void **state)
{
	(void)state;
	stress(PERCPU_LOCK);
}

static void masks_lose_nothing(void **state)
{
	(void)state;
	stress(PERCPU_MASK);
}

static int setup(void **state)
{
	struct sigaction action = { .sa_handler = on_timer };

	(void)state;
	action.sa_flags = SA_RESTART;
	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		return -1;
	return sigaction(SIGUSR1, &action, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_lose_nothing),
		cmocka_unit_test(locks_lose_nothing),
		cmocka_unit_test(masks_lose_nothing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
