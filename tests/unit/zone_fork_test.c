/* SPDX-License-Identifier: MIT */
/*
 * fork with zones.  Row P12: many forks while threads allocate; the child
 * allocates, frees and checks, and at most one page for each lost thread is
 * missing.  Also what goes offline, and forks in handlers.
 */
#include "pages.h"

#include <sys/time.h>

#define MEBI(n)	   ((size_t)(n) << 20)
#define NR_THREADS 8
#define NR_HELD	   32

static uint32_t stop;

struct user {
	pthread_t thread;
	struct quire_zone *zone;
	uint64_t seed;
	void *held[NR_HELD];
	/* blocks that this thread surely has; written after and before */
	uint64_t allocs;
};

static unsigned int random_order(uint64_t *seed)
{
	static const unsigned char orders[] = { 0, 0, 0, 0, 0, 1, 3, 2, 4, 9 };

	return orders[random_below(seed, sizeof(orders))];
}

static void change_one(struct user *user)
{
	void **block = &user->held[random_below(&user->seed, NR_HELD)];

	if (*block) {
		ASSERT(!quire_block_free(user->zone, *block));
		*block = NULL;
		return;
	}
	*block = quire_block_alloc(user->zone, random_order(&user->seed),
				   user->seed & 1 ? QUIRE_MOVABLE : 0);
	if (*block)
		*(volatile char *)*block = 1;
}

static void *use(void *arg)
{
	struct user *user = arg;

	while (!load_relaxed(&stop)) {
		change_one(user);
		if (random_below(&user->seed, 4096) == 0)
			quire_zone_drain(user->zone, -1);
		user->allocs++;
	}
	for (int i = 0; i < NR_HELD; i++)
		if (user->held[i])
			ASSERT(!quire_block_free(user->zone, user->held[i]));
	return NULL;
}

/*
 * Pages of blocks in held[] that are out by their state.  A block may stand
 * there twice: one thread has freed it and not noted so, another has it now.
 */
static size_t pages_held(const struct user *users)
{
	static bool seen[1 << 20];
	const struct quire_zone *zone = users[0].zone;
	size_t nr = 0;

	for (int i = 0; i < NR_THREADS * NR_HELD; i++) {
		const char *block = users[i / NR_HELD].held[i % NR_HELD];
		uint64_t page = (uint64_t)(block - zone->base) >> 12;

		if (!block || seen[page] ||
		    STATE_KIND(zone->state[page]) != STATE_HEAD)
			continue;
		seen[page] = true;
		nr += (size_t)1 << STATE_ORDER(zone->state[page]);
	}
	return nr;
}

static void use_in_child(struct quire_zone *zone, const struct user *users)
{
	struct quire_zone_facts facts = { .size = sizeof(facts) };
	size_t held, lost;
	void *blocks[200];
	uint64_t seed = 3;

	quire_zone_check(zone);
	CHILD_CHECK(!quire_zone_describe(zone, &facts));
	held = pages_held(users);
	CHILD_CHECK(facts.used_pages >= held);
	lost = facts.used_pages - held;
	/* one block for each thread, of at most order 9 */
	CHILD_CHECK(lost <= NR_THREADS * 512);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			blocks[i] =
				quire_block_alloc(zone, random_order(&seed), 0);
			if (blocks[i])
				*(volatile char *)blocks[i] = 2;
		}
		for (int i = 0; i < 200; i++)
			CHILD_CHECK(!blocks[i] ||
				    !quire_block_free(zone, blocks[i]));
		CHILD_CHECK(blocks[0]);
	}
	CHILD_CHECK(quire_zone_drain(zone, -1) >= 0);
	quire_zone_check(zone);
	CHILD_CHECK(!quire_zone_describe(zone, &facts));
	CHILD_CHECK(facts.used_pages == held + lost);
	CHILD_CHECK(!facts.pcp_pages && !facts.depot_pages);
}

static unsigned int nr_forks(void)
{
	if (getenv("QUIRE_STRESS_SECONDS"))
		return 10000;
	return UNDER_SANITIZER ? 50 : 500; /* for each of the two modes */
}

static void forks_while_threads_allocate(enum quire_pcp pcp)
{
	static struct user users[NR_THREADS];
	struct quire_region *region = region_of(MEBI(160));
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	unsigned int nr = CONFIG_UP ? 50 : nr_forks();

	options.region = region;
	options.pcp = pcp;
	options.nr_shards = 2;
	/* TSan: no thread is started in a child of many */
	options.decay_ms = UNDER_TSAN ? UINT32_MAX : 20;
	zone = zone_with(options);
	store_relaxed(&stop, 0);
	for (int i = 0; i < NR_THREADS; i++) {
		users[i] =
			(struct user){ .zone = zone, .seed = (uint64_t)i + 1 };
		if (!CONFIG_UP)
			pthread_create(&users[i].thread, NULL, use, &users[i]);
	}
	for (unsigned int i = 0; i < nr; i++) {
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			use_in_child(zone, users);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < NR_THREADS; i++)
		if (!CONFIG_UP)
			pthread_join(users[i].thread, NULL);
	quire_zone_drain(zone, -1);
	assert_int_equal(zone_facts(zone).used_pages, 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void p12_rseq(void **state)
{
	(void)state;
	forks_while_threads_allocate(QUIRE_PCP_AUTO);
}

static void p12_lock(void **state)
{
	(void)state;
	forks_while_threads_allocate(QUIRE_PCP_LOCK);
}

/* Offline */

static void check_offline(void *arg)
{
	struct quire_zone **zone = arg;
	void *page = zone[1];

	errno = 0;
	CHILD_CHECK(!quire_page_alloc(zone[0], 0));
	CHILD_CHECK(errno == ENXIO);
	errno = 0;
	CHILD_CHECK(!quire_block_alloc(zone[0], 4, 0));
	CHILD_CHECK(errno == ENXIO);
	errno = 0;
	CHILD_CHECK(!quire_range_alloc(zone[0], 3, 0, 0));
	CHILD_CHECK(errno == ENXIO);
	CHILD_CHECK(quire_block_free(zone[0], page) == -ENXIO);
	CHILD_CHECK(quire_zone_trim(zone[0], 0) == 0);
	CHILD_CHECK(zone_facts(zone[0]).offline == 1);
	CHILD_CHECK(quire_zone_close(zone[0]) >= 0);
}

static void shared_memory(void **state)
{
	struct quire_zone_options options = zone_plain();
	void *memory = mmap(NULL, MEBI(16), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *args[2];

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	options.memory = memory;
	options.bytes = MEBI(16);
	options.flags = QUIRE_ZONE_SHARED;
	args[0] = zone_with(options);
	args[1] = quire_page_alloc(args[0], 0);
	assert_int_equal(
		quire_block_free(args[0], quire_page_alloc(args[0], 0)), 0);
	assert_int_equal(in_child_of(check_offline, args), 0);
	assert_int_equal(quire_block_free(args[0], args[1]), 0);
	assert_int_equal(zone_facts(args[0]).offline, 0);
	zone_done(args[0], 0);
	munmap(memory, MEBI(16));
}

static void region_that_is_not_inherited(void **state)
{
	struct quire_region_options options = { .size = sizeof(options),
						.flags = QUIRE_REGION_NO_LIMIT |
							 QUIRE_REGION_NO_FORK };
	struct quire_region *region;
	void *args[2];

	(void)state;
	assert_int_equal(quire_region_open(MEBI(16), &options, &region), 0);
	args[0] = zone_over(region, 0);
	args[1] = quire_page_alloc(args[0], 0);
	assert_int_equal(in_child_of(check_offline, args), 0);
	assert_int_equal(quire_block_free(args[0], args[1]), 0);
	zone_done(args[0], 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* A private zone's region is busy in the child as well, until it is closed. */
static void close_in_child(void *arg)
{
	void **args = arg;

	CHILD_CHECK(quire_region_close(args[1]) == -EBUSY);
	CHILD_CHECK(quire_zone_close(args[0]) == 0);
	CHILD_CHECK(quire_region_close(args[1]) == 0);
}

static void *fork_in_thread(void *arg)
{
	assert_int_equal(in_child_of(close_in_child, arg), 0);
	return NULL;
}

static void regions_stay_busy(void **state)
{
	void *args[2];
	pthread_t thread;

	(void)state;
	args[1] = region_of(MEBI(16));
	args[0] = zone_over(args[1], 0);
	pthread_create(&thread, NULL, fork_in_thread, args);
	pthread_join(thread, NULL);
	zone_done(args[0], 0);
	assert_int_equal(quire_region_close(args[1]), 0);
}

static void check_lists_still_disabled(void *arg)
{
	struct quire_zone *zone = arg;
	void *page = quire_page_alloc(zone, 0);

	CHILD_CHECK(page);
	CHILD_CHECK(!quire_block_free(zone, page));
	CHILD_CHECK(zone_facts(zone).pcp_pages == 0);
	CHILD_CHECK(!quire_zone_pcp_enable(zone));
	quire_zone_check(zone);
	CHILD_CHECK(quire_zone_close(zone) == 0);
}

static void lists_that_are_disabled_stay_so(void **state)
{
	struct quire_zone *zone = zone_of_numbers(MEBI(64));

	(void)state;
	assert_int_equal(quire_zone_pcp_disable(zone), 0);
	assert_int_equal(in_child_of(check_lists_still_disabled, zone), 0);
	assert_int_equal(quire_zone_pcp_enable(zone), 0);
	zone_done(zone, 0);
}

/* Handlers */

static struct quire_zone *handler_zone;
static uint32_t handler_forks;

/* Whatever this interrupted: no deadlock, and the child can serve itself. */
static void fork_in_handler(int signal)
{
	int saved = errno, status;
	pid_t child = fork();
	void *page;

	(void)signal;
	if (!child) {
		page = quire_page_alloc(handler_zone, QUIRE_ATOMIC);
		if (page)
			quire_block_free_atomic(handler_zone, page);
		child = fork(); /* such a child's fork is such a fork */
		if (!child)
			_exit(0);
		_exit(child < 0 || waitpid(child, &status, 0) != child);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		abort();
	handler_forks++;
	errno = saved;
}

static void forks_in_handlers(void **state)
{
	struct sigaction action = { .sa_handler = fork_in_handler,
				    .sa_flags = SA_RESTART };
	struct quire_region *region = region_of(MEBI(64));
	struct user user = { .seed = 5 };
	uint32_t wanted = UNDER_SANITIZER ? 20 : 200;

	(void)state;
	if (UNDER_TSAN)
		skip(); /* it delivers signals late, and not inside us */
	user.zone = handler_zone = zone_over(region, 20);
	sigaction(SIGALRM, &action, NULL);
	while (handler_forks < wanted) {
		struct itimerval soon = { .it_value.tv_usec =
						  200 + handler_forks % 97 };

		setitimer(ITIMER_REAL, &soon, NULL);
		for (uint32_t before = handler_forks; before == handler_forks;)
			change_one(&user);
	}
	signal(SIGALRM, SIG_DFL);
	for (int i = 0; i < NR_HELD; i++)
		if (user.held[i])
			quire_block_free(user.zone, user.held[i]);
	zone_done(user.zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(region_that_is_not_inherited),
		cmocka_unit_test(regions_stay_busy),
		cmocka_unit_test(lists_that_are_disabled_stay_so),
		cmocka_unit_test(forks_in_handlers),
		cmocka_unit_test(p12_rseq),
		cmocka_unit_test(p12_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
