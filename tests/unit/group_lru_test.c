/* SPDX-License-Identifier: MIT */
/*
 * Lists and their locks (spec B.10): who owns a page, how often a lock is taken
 * for a batch, what order is kept, and that every way out of owning a page puts
 * it back.  Those that need a thread stopped between two steps are in
 * group_step_test.c.
 */
#include "groups.h"

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root, *g1, *g2, *g3;
static struct shelf shelf;

static int open_lock(uint32_t lru_lock)
{
	zone = zone_of_numbers(64 * MIB);
	groups = groups_over(
		&zone, 1,
		(struct quire_groups_options){ .lru_lock = lru_lock });
	root = quire_groups_root(groups);
	g1 = group_in(root, QUIRE_GROUP_NO_LIMIT);
	g2 = group_in(root, QUIRE_GROUP_NO_LIMIT);
	g3 = group_in(root, QUIRE_GROUP_NO_LIMIT);
	shelf_open(&shelf, groups);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return open_lock(QUIRE_LRU_LOCK_GROUP);
}

static int setup_node(void **state)
{
	(void)state;
	return open_lock(QUIRE_LRU_LOCK_NODE);
}

static int teardown(void **state)
{
	(void)state;
	shelf_clear(&shelf);
	groups_done(groups);
	zone_done(zone, 0);
	return 0;
}

static uint32_t number_of(const void *page)
{
	uint32_t nr = NO_PAGE;

	assert_non_null(groups_find(groups, page, &nr));
	return nr;
}

static struct node *node_of(void)
{
	return &groups->node[0];
}

/* On its list. */
static void *listed(struct quire_group *group, uint64_t key)
{
	void *page = shelf_add(&shelf, group, key);

	assert_non_null(page);
	batch_flush_all(node_of());
	assert_true(flags_of(groups, page) & GP_LRU);
	return page;
}

static uint64_t takes(void)
{
	return GROUPS_COUNTER(groups, group_lock_takes);
}

/* 1: two isolators. */
static uint32_t go;
static unsigned int nr_won;

static void *isolate_it(void *page)
{
	while (!load_acquire(&go))
		;
	if (!quire_group_page_isolate(groups, page))
		add_relaxed(&nr_won, 1);
	return NULL;
}

static void test_two_isolators(void **state)
{
	void *page = listed(g1, 1);

	(void)state;
	for (int i = 0; i < 200; i++) {
		pthread_t thread[2];

		nr_won = go = 0;
		for (int k = 0; k < 2; k++)
			assert_int_equal(pthread_create(&thread[k], NULL,
							isolate_it, page),
					 0);
		store_release(&go, 1);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
		assert_int_equal(nr_won, 1);
		assert_int_equal(record_of(groups, page)->refs, 2);
		assert_int_equal(facts_of(g1).isolated_pages, 1);
		quire_groups_check(groups);
		assert_int_equal(quire_group_page_put_back(groups, page), 0);
		assert_int_equal(record_of(groups, page)->refs, 1);
	}
}

/* 2: a mover fails while somebody else has the page. */
static void test_mover_and_isolator(void **state)
{
	void *page = listed(g1, 1);

	(void)state;
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	assert_int_equal(quire_group_page_move(groups, page, g2), -EBUSY);
	assert_int_equal(usage_of(g1), 1);
	assert_int_equal(usage_of(g2), 0);
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(quire_group_page_move(groups, page, g2), 0);
	assert_int_equal(usage_of(g1), 0);
	assert_int_equal(usage_of(g2), 1);
	assert_int_equal(facts_of(g2).inactive_pages[0], 1);
	assert_int_equal(facts_of(g1).isolated_pages, 0);
	quire_groups_check(groups);
}

/* 3: locks taken for a batch, and the order within a group. */
static void test_batch_locks(void **state)
{
	struct quire_group *of[] = { g1, g1, g2, g1 };
	uint32_t page[4];
	uint64_t keys[4], before;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		page[i] = number_of(listed(of[i], i));
		assert_true(page_get(&node_of()->page[page[i]], PAGE_REF));
	}
	before = takes();
	batch_move(node_of(), BATCH_ACTIVATE, page, 4);
	assert_int_equal(takes() - before, 2); /* grouped */
	assert_int_equal(keys_of(g1, LRU_ACTIVE_FILE, keys, 4), 3);
	assert_int_equal(keys[0], 3);
	assert_int_equal(keys[1], 1);
	assert_int_equal(keys[2], 0);
	assert_int_equal(keys_of(g2, LRU_ACTIVE_FILE, keys, 4), 1);
	quire_groups_check(groups);
}

static void test_relock(void **state)
{
	struct quire_group *of[] = { g1, g1, g2, g1 };
	struct lruvec *vec = NULL;
	uint64_t before;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		listed(of[i], i);
	before = takes();
	for (uint64_t i = 0; i < 4; i++)
		vec = page_lruvec_relock(node_of(),
					 record_of(groups, shelf.page[i]), vec);
	lruvec_unlock(vec);
	assert_int_equal(takes() - before, 3);
}

static void test_node_lock(void **state)
{
	struct quire_group *of[] = { g1, g1, g2, g3 };
	uint32_t page[4];
	uint64_t before;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		page[i] = number_of(listed(of[i], i));
		assert_true(page_get(&node_of()->page[page[i]], PAGE_REF));
	}
	before = takes();
	batch_move(node_of(), BATCH_ACTIVATE, page, 4);
	assert_int_equal(takes() - before, 1);
	assert_int_equal(facts_of(g1).active_pages[0], 2);
	assert_int_equal(facts_of(root).active_pages[0], 4);
	assert_int_equal(quire_group_delete(g2), 0);
	assert_int_equal(facts_of(root).active_pages[0], 4);
	quire_groups_check(groups);
}

/* 4, X9: the last put of a batch comes behind its lock: free_block asserts it */
static void test_last_put_in_batch(void **state)
{
	uint32_t page[3];

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		page[i] = number_of(listed(g1, i));
		assert_true(page_get(&node_of()->page[page[i]], PAGE_REF));
	}
	/* the owner gives up one of them: the batch has the last reference */
	shelf_remove(&shelf, 1);
	assert_int_equal(usage_of(g1), 3);
	batch_move(node_of(), BATCH_ACTIVATE, page, 3);
	assert_int_equal(usage_of(g1), 2);
	assert_int_equal(facts_of(g1).active_pages[0], 2);
	quire_groups_check(groups);
}

/* 5: each reason not to drop a page leaves it on a list. */
static void reject(uint64_t key, const char *why)
{
	void *page = shelf.page[key];
	unsigned int drops = shelf.nr_drop;

	if (quire_group_reclaim(g1, 1) || shelf.nr_drop != drops ||
	    shelf.page[key] != page || !(flags_of(groups, page) & GP_LRU))
		fail_msg("%s: not put back", why);
	assert_int_equal(facts_of(g1).isolated_pages, 0);
	quire_groups_check(groups);
}

static void test_rejected(void **state)
{
	void *page = listed(g1, 7);

	(void)state;
	assert_int_equal(quire_group_page_pin(groups, page), 0);
	reject(7, "pinned");
	assert_int_equal(quire_group_page_unpin(groups, page), 0);
	assert_int_equal(quire_group_page_get(groups, page), 0);
	reject(7, "referenced");
	assert_int_equal(quire_group_page_put(groups, page), 0);
	assert_int_equal(quire_group_page_set_evictable(groups, page, 0), 0);
	reject(7, "unevictable");
	assert_int_equal(facts_of(g1).unevictable_pages, 1);
	assert_int_equal(quire_group_page_set_evictable(groups, page, 1), 0);
	assert_int_equal(facts_of(g1).unevictable_pages, 0);
	shelf.refuse[7] = -EBUSY;
	reject(7, "refused");
	shelf.refuse[7] = 0;
	shelf.dirty[7] = 2; /* and cannot be cleaned at once */
	reject(7, "being written");
	assert_true(shelf.nr_put_back > 0);
	assert_int_equal(quire_group_page_rotate(groups, page), 0);
	shelf.dirty[7] = 1;
	assert_int_equal(quire_group_reclaim(g1, 1), 1);
	assert_int_equal(shelf.nr_drop, 1);
	assert_null(shelf.page[7]);
}

/* 6: cost, level by level, and where it is halved. */
static void test_cost(void **state)
{
	struct quire_group *below = group_in(g1, QUIRE_GROUP_NO_LIMIT);
	struct lruvec *low = &group_inside(below)->vec[0];
	struct lruvec *mid = &group_inside(g1)->vec[0];
	struct lruvec *top = &group_inside(root)->vec[0];

	(void)state;
	assert_int_equal(quire_group_charge(below, 400), 0);
	assert_int_equal(quire_group_charge(g1, 400), 0);
	assert_int_equal(quire_group_charge(root, 800), 0);
	cost_note(low, 0, 60);
	cost_note(low, 1, 40); /* 100: a quarter of 400 */
	assert_int_equal(low->cost[0], 60);
	assert_int_equal(low->cost[1], 40);
	cost_note(low, 0, 1);
	assert_int_equal(low->cost[0], 30);
	assert_int_equal(low->cost[1], 20);
	assert_int_equal(mid->cost[0], 61);
	assert_int_equal(mid->cost[1], 40);
	cost_note(low, 1, 100);
	assert_int_equal(low->cost[0], 15);
	assert_int_equal(low->cost[1], 60);
	assert_int_equal(mid->cost[0], 30); /* 201 of 200 */
	assert_int_equal(mid->cost[1], 70);
	assert_int_equal(top->cost[0], 61);
	assert_int_equal(top->cost[1], 140);
	cost_note(top, 1, 200); /* 401 of 400 */
	assert_int_equal(top->cost[0], 30);
	assert_int_equal(top->cost[1], 170);
	assert_int_equal(low->cost[1], 60);
	quire_group_uncharge(below, 400);
	quire_group_uncharge(g1, 400);
	quire_group_uncharge(root, 800);
}

/* 9 is for when large pages are split; blocks are counted whole (B2). */
static void test_blocks_are_counted_whole(void **state)
{
	struct quire_page_request request = request_of(&shelf, 3);
	void *block;

	(void)state;
	request.order = 5;
	block = shelf_make(&shelf, g1, &request);
	assert_non_null(block);
	assert_int_equal(usage_of(g1), 32);
	assert_int_equal(facts_of(g1).inactive_pages[0], 32);
	assert_int_equal(quire_group_page_isolate(groups, block), 0);
	assert_int_equal(facts_of(g1).isolated_pages, 32);
	assert_int_equal(facts_of(g1).inactive_pages[0], 0);
	assert_int_equal(quire_group_page_put_back(groups, block), 0);
	assert_int_equal(
		quire_group_page_put(groups, (char *)block + PAGE_SIZE),
		-EFAULT);
	listed(g1, 4);
	assert_int_equal(quire_group_reclaim(g1, 1), 32);
	assert_int_equal(usage_of(g1), 1);
}

/* 10: isolate n, put n back: 0, also in groups that are gone meanwhile. */
static void test_isolated_counts(void **state)
{
	(void)state;
	for (uint64_t key = 0; key < 50; key++) {
		listed(key % 2 ? g1 : g2, key);
		assert_int_equal(
			quire_group_page_isolate(groups, shelf.page[key]), 0);
	}
	assert_int_equal(facts_of(g1).isolated_pages, 25);
	assert_int_equal(facts_of(root).isolated_pages, 50);
	assert_int_equal(quire_group_delete(g1), 0);
	quire_groups_check(groups);
	for (uint64_t key = 0; key < 50; key++)
		assert_int_equal(
			quire_group_page_put_back(groups, shelf.page[key]), 0);
	assert_int_equal(facts_of(root).isolated_pages, 0);
	assert_int_equal(facts_of(root).inactive_pages[0], 50);
	assert_int_equal(facts_of(g2).inactive_pages[0], 25);
}

/* 11: a release of many over three groups. */
static void test_release_many(void **state)
{
	struct quire_group *of[] = { g1, g2, g3 };
	static void *page[120];
	uint64_t before;

	(void)state;
	for (uint64_t i = 0; i < 120; i++)
		shelf_add(&shelf, of[i / 40], i);
	quire_groups_drain(groups);
	for (uint64_t i = 0; i < 120; i++) {
		page[i] = shelf.page[i];
		shelf.page[i] = NULL;
	}
	before = takes();
	assert_int_equal(quire_group_page_put_many(groups, 120, page), 0);
	/* 32 │ 8 + 24 │ 16 + 16 │ 24: each hold is of one chunk */
	assert_int_equal(takes() - before, 6);
	assert_int_equal(usage_of(root), 0);
}

/* The second touch activates; the first, alone, does not. */
static void test_touch(void **state)
{
	void *page = listed(g1, 1);

	(void)state;
	quire_group_page_touch(groups, page);
	quire_groups_drain(groups);
	assert_int_equal(facts_of(g1).active_pages[0], 0);
	quire_group_page_touch(groups, page);
	assert_true(flags_of(groups, page) & GP_LRU); /* B9: while it waits */
	quire_groups_drain(groups);
	assert_int_equal(facts_of(g1).active_pages[0], 1);
	for (int i = 0; i < 5; i++)
		quire_group_page_touch(groups, page);
	assert_int_equal(facts_of(g1).active_pages[0], 1);
	assert_int_equal(quire_group_page_deactivate(groups, page), 0);
	quire_groups_drain(groups);
	assert_int_equal(facts_of(g1).inactive_pages[0], 1);
	/* before it is on a list it is remembered */
	page = shelf_add(&shelf, g1, 2);
	quire_group_page_touch(groups, page);
	quire_group_page_touch(groups, page);
	quire_groups_drain(groups);
	assert_int_equal(facts_of(g1).active_pages[0], 1);
}

/* B9: what waits in a batch can be isolated, moved, freed. */
static void test_in_a_batch(void **state)
{
	void *page = listed(g1, 1);

	(void)state;
	if (CONFIG_UP)
		skip(); /* nothing is collected there */
	quire_group_page_touch(groups, page);
	quire_group_page_touch(groups, page);
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	quire_groups_drain(groups); /* skips it */
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(facts_of(g1).inactive_pages[0], 1);
	quire_group_page_touch(groups, page);
	quire_group_page_touch(groups, page);
	assert_int_equal(quire_group_page_move(groups, page, g2), 0);
	quire_groups_drain(groups);
	assert_int_equal(facts_of(g2).active_pages[0], 1); /* X2 */
	shelf_add(&shelf, g1, 2);
	assert_int_equal(quire_group_page_move(groups, shelf.page[2], g2), 0);
	assert_int_equal(facts_of(g2).usage_pages, 2);
	shelf_add(&shelf, g1, 3);
	shelf_remove(&shelf, 3);
	quire_groups_drain(groups);
	assert_int_equal(usage_of(g1), 0);
}

/* Which order stays, and where pages go. */
static void test_order(void **state)
{
	uint64_t keys[64];

	(void)state;
	for (uint64_t key = 0; key < 40; key++)
		shelf_add(&shelf, key % 3 ? g1 : g2, key);
	quire_groups_drain(groups);
	assert_int_equal(keys_of(g1, LRU_INACTIVE_FILE, keys, 64), 26);
	for (size_t i = 1; i < 26; i++)
		assert_true(keys[i - 1] > keys[i]); /* I-B6 */
	assert_int_equal(quire_group_page_rotate(groups, shelf.page[38]), 0);
	quire_groups_drain(groups);
	keys_of(g1, LRU_INACTIVE_FILE, keys, 64);
	assert_int_equal(keys[25], 38);
	assert_int_equal(keys[0], 37);
	/* the order survives a delete, behind what the parent had */
	shelf_add(&shelf, root, 100);
	quire_groups_drain(groups);
	assert_int_equal(quire_group_delete(g1), 0);
	assert_int_equal(keys_of(root, LRU_INACTIVE_FILE, keys, 64), 27);
	assert_int_equal(keys[0], 100);
	assert_int_equal(keys[1], 37);
	assert_int_equal(keys[26], 38);
}

/* G3: every kind of page is somewhere. */
static void test_all_kinds_are_counted(void **state)
{
	struct quire_page_request request = request_of(&shelf, 0);
	struct quire_group_facts facts;
	void *without;

	(void)state;
	for (uint64_t key = 0; key < 6; key++) {
		request = request_of(&shelf, key);
		request.kind = key % 2 ? QUIRE_PAGE_ANON : QUIRE_PAGE_FILE;
		request.order = key == 4;
		assert_non_null(shelf_make(&shelf, g1, &request));
	}
	quire_group_page_set_evictable(groups, shelf.page[0], 0);
	quire_group_page_touch(groups, shelf.page[1]);
	quire_group_page_touch(groups, shelf.page[1]);
	quire_groups_drain(groups);
	quire_group_page_isolate(groups, shelf.page[2]);
	request.owner = QUIRE_OWNER_NONE;
	without = quire_group_page_alloc(g1, &request);
	assert_int_equal(quire_group_page_add(groups, without), -EINVAL);
	assert_int_equal(quire_group_charge(g1, 10), 0);
	facts = facts_of(g1);
	assert_int_equal(facts.usage_pages, 18);
	assert_int_equal(facts.unevictable_pages, 1);
	assert_int_equal(facts.active_pages[1], 1);
	assert_int_equal(facts.isolated_pages, 1);
	assert_int_equal(facts.inactive_pages[0], 2); /* a block */
	assert_int_equal(facts.inactive_pages[1], 2);
	assert_int_equal(facts.other_pages, 11);
	quire_group_page_put_back(groups, shelf.page[2]);
	quire_group_page_put(groups, without);
	quire_group_uncharge(g1, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_two_isolators),
		T(test_mover_and_isolator),
		T(test_batch_locks),
		T(test_relock),
		cmocka_unit_test_setup_teardown(test_node_lock, setup_node,
						teardown),
		T(test_last_put_in_batch),
		T(test_rejected),
		T(test_cost),
		T(test_blocks_are_counted_whole),
		T(test_isolated_counts),
		T(test_release_many),
		T(test_touch),
		T(test_in_a_batch),
		T(test_order),
		T(test_all_kinds_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
