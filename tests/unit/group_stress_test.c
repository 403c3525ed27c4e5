/* SPDX-License-Identifier: MIT */
/*
 * Many threads: charging, allocating, touching, pinning, moving, reclaiming,
 * making and deleting groups at once; with both locks, and with stocks and
 * batches by lock (which is what the thread sanitizer can follow).  Walkers run
 * when all have come to rest.
 */
#include "groups.h"

#define THREADS	   4
#define TENANTS	   3
#define KEYS_EACH  2000
#define ROUNDS_ALL 200

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root, *top, *tenant[TENANTS];
static struct shelf shelf;
static uint32_t stop; /* atomic */

static unsigned int seconds(void)
{
	const char *text = getenv("QUIRE_STRESS_SECONDS");

	return text ? (unsigned int)atoi(text) : 1;
}

/* A page of a key, with a reference; or NULL. */
static void *find_page(uint64_t key)
{
	void *page = load_acquire(&shelf.page[key]);

	if (!page || quire_group_page_get(groups, page))
		return NULL;
	if (load_acquire(&shelf.page[key]) == page)
		return page;
	/* dropped meanwhile, and of somebody else now */
	quire_group_page_put(groups, page);
	return NULL;
}

static void put(void *page)
{
	ASSERT(quire_group_page_put(groups, page) == 0);
}

static void use(uint64_t *random, uint64_t key, struct quire_group *group)
{
	void *page = find_page(key);

	if (!page)
		return;
	switch (random_below(random, 8)) {
	case 0:
		if (!quire_group_page_pin(groups, page))
			ASSERT(!quire_group_page_unpin(groups, page));
		break;
	case 1:
		if (!quire_group_page_isolate(groups, page))
			ASSERT(!quire_group_page_put_back(groups, page));
		break;
	case 2:
		quire_group_page_move(groups, page, group);
		break;
	case 3:
		quire_group_page_set_evictable(groups, page,
					       (int)random_below(random, 2));
		break;
	case 4:
		quire_group_page_deactivate(groups, page);
		break;
	default:
		quire_group_page_touch(groups, page);
		quire_group_page_touch(groups, page);
	}
	put(page);
}

/* Only its own thread adds and removes a key, drops come from anywhere. */
static void add_or_remove(uint64_t *random, uint64_t key,
			  struct quire_group *group)
{
	void *page = load_acquire(&shelf.page[key]);

	if (!page) {
		shelf_add(&shelf, group, key);
		return;
	}
	if (random_below(random, 4) || quire_group_page_isolate(groups, page))
		return;
	if (load_acquire(&shelf.page[key]) != page) {
		ASSERT(!quire_group_page_put_back(groups, page));
		return; /* dropped meanwhile, and of somebody else now */
	}
	/* it is ours, so nobody drops it: the owner gives it up */
	store_release(&shelf.page[key], NULL);
	put(page);
	ASSERT(!quire_group_page_put_back(groups, page));
}

static void charges(uint64_t *random, struct quire_group *group)
{
	size_t nr = 1 + random_below(random, 40);

	switch (random_below(random, 3)) {
	case 0:
		if (!quire_group_charge(group, nr))
			ASSERT(!quire_group_uncharge(group, nr));
		break;
	case 1:
		if (!quire_group_reserve(group, nr, 2, NULL))
			ASSERT(!quire_group_uncharge(group, nr));
		break;
	default:
		quire_group_reclaim(group, nr);
	}
}

/* A group with a page and a charge comes and goes. */
static void come_and_go(uint64_t key)
{
	struct quire_group *group;

	if (quire_group_create(top, &group))
		return;
	if (!load_acquire(&shelf.page[key]))
		shelf_add(&shelf, group, key);
	if (!quire_group_charge(group, 3))
		ASSERT(!quire_group_uncharge(group, 3));
	ASSERT(!quire_group_delete(group));
}

static void *work(void *arg)
{
	uint64_t me = (uint64_t)(uintptr_t)arg, random = 11 + me;

	while (!load_acquire(&stop)) {
		uint64_t own =
			me * KEYS_EACH + random_below(&random, KEYS_EACH);
		uint64_t any = random_below(&random, THREADS * KEYS_EACH);
		struct quire_group *group =
			tenant[random_below(&random, TENANTS)];

		add_or_remove(&random, own, group);
		use(&random, any, group);
		if (!random_below(&random, 16))
			charges(&random, group);
		if (!random_below(&random, 32))
			come_and_go(own);
		if (!random_below(&random, 256))
			quire_groups_drain(groups);
		if (!random_below(&random, 256))
			quire_group_set_limit(group, QUIRE_GROUP_MAX,
					      200 + random_below(&random, 400));
	}
	return NULL;
}

static void come_to_rest(void)
{
	quire_groups_drain(groups);
	quire_groups_check(groups);
	quire_zone_check(zone);
	for (uint64_t key = 0; key < SHELF; key++)
		if (shelf.page[key])
			quire_group_page_set_evictable(groups, shelf.page[key],
						       1);
	assert_int_equal(usage_of(root), shelf_held(&shelf, 0, SHELF));
	assert_int_equal(facts_of(root).isolated_pages, 0);
}

static void run(struct quire_groups_options options)
{
	pthread_t thread[THREADS];

	if (CONFIG_UP)
		skip();
	zone = zone_of_numbers(32 * MIB);
	groups = groups_over(&zone, 1, options);
	root = quire_groups_root(groups);
	top = group_in(root, 1000);
	for (int i = 0; i < TENANTS; i++)
		tenant[i] = group_in(top, 400);
	shelf_open(&shelf, groups);
	stop = 0;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work,
						(void *)(uintptr_t)i),
				 0);
	sleep(seconds());
	store_release(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	come_to_rest();
	shelf_clear(&shelf);
	groups_done(groups);
	zone_done(zone, 0);
}

static void test_group_lock(void **state)
{
	(void)state;
	run((struct quire_groups_options){ 0 });
}

static void test_node_lock(void **state)
{
	(void)state;
	run((struct quire_groups_options){ .lru_lock = QUIRE_LRU_LOCK_NODE });
}

static void test_lock_mode(void **state)
{
	(void)state;
	run((struct quire_groups_options){ .pcp = QUIRE_PCP_LOCK });
}

static void test_few_groups(void **state)
{
	(void)state;
	run((struct quire_groups_options){ .max_groups = 6,
					   .pcp = QUIRE_PCP_OFF });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_lock),
		cmocka_unit_test(test_node_lock),
		cmocka_unit_test(test_lock_mode),
		cmocka_unit_test(test_few_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
