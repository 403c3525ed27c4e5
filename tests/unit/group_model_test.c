/* SPDX-License-Identifier: MIT */
/*
 * Groups against an oracle that keeps numbers only: which group each page and
 * each charge belongs to.  Random calls; after each the walkers run and all
 * usages agree.  A charge may be refused only where pages that cannot be
 * reclaimed leave no room for it.
 */
#include "groups.h"

#define NR_GROUPS 12
#define NR_KEYS	  200
#define STEPS	  6000

struct model_group {
	struct quire_group *handle;
	int parent; /* -1: not there */
	uint64_t max;
	uint64_t charged; /* without pages */
	bool over;	  /* had more than max when that was set */
};

static struct model_group model[NR_GROUPS]; /* 0 is the root */
static int page_group[NR_KEYS];		    /* -1: not there */
static unsigned int page_pins[NR_KEYS];
static bool page_kept[NR_KEYS]; /* unevictable */
static struct quire_zone *zone;
static struct quire_groups *groups;
static struct shelf shelf;
static uint64_t seed;

static bool is_below(int group, int top)
{
	while (group != top && group > 0)
		group = model[group].parent;
	return group == top;
}

static bool is_there(int group)
{
	return !group || model[group].parent >= 0;
}

static uint64_t model_usage(int top, bool only_firm)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_GROUPS; i++)
		if (is_there(i) && is_below(i, top))
			sum += model[i].charged;
	for (int key = 0; key < NR_KEYS; key++)
		if (page_group[key] >= 0 && is_below(page_group[key], top) &&
		    (!only_firm || page_pins[key] || page_kept[key]))
			sum++;
	return sum;
}

/* Drops are told by the owner's callback. */
static void dropped(struct shelf *s, uint64_t key)
{
	(void)s;
	ASSERT(page_group[key] >= 0 && !page_pins[key] && !page_kept[key]);
	page_group[key] = -1;
}

/* A refusal is right where some level has no room, whatever is dropped. */
static void check_refusal(int group, uint64_t nr)
{
	bool full = false;

	for (; !full; group = model[group].parent) {
		full = model[group].max != QUIRE_GROUP_NO_LIMIT &&
		       model_usage(group, true) + nr > model[group].max;
		if (!group)
			break;
	}
	assert_true(full);
}

static void check_all_usages(void)
{
	quire_groups_check(groups);
	for (int i = 0; i < NR_GROUPS; i++) {
		uint64_t usage;

		if (!is_there(i))
			continue;
		usage = usage_of(model[i].handle);
		assert_int_equal(usage, model_usage(i, false));
		model[i].over &= usage > model[i].max;
		assert_true(usage <= model[i].max || model[i].over);
	}
}

static int any_group(void)
{
	int group;

	do
		group = (int)random_below(&seed, NR_GROUPS);
	while (!is_there(group));
	return group;
}

static void do_create(void)
{
	int parent = any_group();

	for (int i = 1; i < NR_GROUPS; i++) {
		if (is_there(i))
			continue;
		assert_int_equal(quire_group_create(model[parent].handle,
						    &model[i].handle),
				 0);
		model[i].parent = parent;
		model[i].max = QUIRE_GROUP_NO_LIMIT;
		model[i].charged = 0;
		model[i].over = false;
		return;
	}
}

static void do_delete(void)
{
	int group = any_group(), parent = model[group].parent;
	bool has_child = false;

	for (int i = 1; i < NR_GROUPS; i++)
		has_child |= is_there(i) && model[i].parent == group;
	if (has_child || !group) {
		assert_int_not_equal(quire_group_delete(model[group].handle),
				     0);
		return;
	}
	quire_group_uncharge(model[group].handle, model[group].charged);
	assert_int_equal(quire_group_delete(model[group].handle), 0);
	for (int key = 0; key < NR_KEYS; key++)
		if (page_group[key] == group)
			page_group[key] = parent;
	model[group].parent = -1;
}

static void do_limit(void)
{
	int group = any_group(), error;
	uint64_t max = random_below(&seed, 4) ? random_below(&seed, 120)
					      : QUIRE_GROUP_NO_LIMIT;

	if (!group)
		return;
	error = quire_group_set_limit(model[group].handle, QUIRE_GROUP_MAX,
				      max);
	model[group].max = max;
	if (error)
		assert_true(model_usage(group, true) > max);
	model[group].over = error;
}

static void do_charge(void)
{
	int group = any_group(), error;
	uint64_t nr = 1 + random_below(&seed, 20);

	error = quire_group_charge(model[group].handle, nr);
	if (error)
		check_refusal(group, nr);
	else
		model[group].charged += nr;
}

static void do_uncharge(void)
{
	int group = any_group();
	uint64_t nr = random_below(&seed, model[group].charged + 1);

	assert_int_equal(quire_group_uncharge(model[group].handle, nr), 0);
	model[group].charged -= nr;
}

static void do_alloc(void)
{
	uint64_t key = random_below(&seed, NR_KEYS);
	int group = any_group();

	if (page_group[key] >= 0)
		return;
	/* not before: a drop of others is told during the call */
	if (!shelf_add(&shelf, model[group].handle, key)) {
		check_refusal(group, 1);
		return;
	}
	page_group[key] = group;
	page_pins[key] = 0;
	page_kept[key] = false;
}

static int any_page(void)
{
	int key = (int)random_below(&seed, NR_KEYS);

	return page_group[key] >= 0 ? key : -1;
}

static void do_free(int key)
{
	if (page_pins[key])
		return;
	page_group[key] = -1;
	shelf_remove(&shelf, (uint64_t)key);
	/* a batch may have a reference */
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		batch_flush_all(&groups->node[i]);
}

static void do_pin(int key)
{
	bool up = !page_pins[key] || random_below(&seed, 2);

	if (up && random_below(&seed, 3))
		return; /* fewer are pinned than not */
	if (up)
		assert_int_equal(quire_group_page_pin(groups, shelf.page[key]),
				 0);
	else
		assert_int_equal(
			quire_group_page_unpin(groups, shelf.page[key]), 0);
	page_pins[key] += up ? 1 : -1u;
}

static void do_keep(int key)
{
	page_kept[key] = !page_kept[key] && !random_below(&seed, 3);
	assert_int_equal(quire_group_page_set_evictable(groups, shelf.page[key],
							!page_kept[key]),
			 0);
}

static void do_move(int key)
{
	int to = any_group(), from = page_group[key];
	void *page = shelf.page[key];
	int error;

	/* a pin of ours, so that it is not dropped for its own charge */
	assert_int_equal(quire_group_page_pin(groups, page), 0);
	page_pins[key]++;
	error = quire_group_page_move(groups, page, model[to].handle);
	if (error) {
		assert_int_equal(error, -EBUSY);
		assert_int_equal(page_group[key], from);
		check_refusal(to, 1);
	} else {
		page_group[key] = to;
	}
	assert_int_equal(quire_group_page_unpin(groups, page), 0);
	page_pins[key]--;
}

static void do_touch(int key)
{
	assert_int_equal(quire_group_page_touch(groups, shelf.page[key]), 0);
	if (!random_below(&seed, 4))
		quire_group_page_deactivate(groups, shelf.page[key]);
}

static void do_reclaim(void)
{
	int group = any_group();
	uint64_t nr = random_below(&seed, 20);
	uint64_t before = model_usage(group, false);
	long got = quire_group_reclaim(model[group].handle, nr);

	assert_true(got >= 0 && (uint64_t)got <= nr);
	assert_int_equal(before - model_usage(group, false), got);
}

static void do_step(void)
{
	static void (*const to_page[])(int) = { do_free, do_pin,   do_keep,
						do_move, do_touch, do_touch };
	static void (*const other[])(void) = {
		do_create, do_create,	do_delete,  do_limit,
		do_charge, do_uncharge, do_reclaim,
	};
	int key;

	if (random_below(&seed, 2)) {
		do_alloc();
		return;
	}
	if (random_below(&seed, 2)) {
		other[random_below(&seed, ARRAY_SIZE(other))]();
		return;
	}
	key = any_page();
	if (key >= 0)
		to_page[random_below(&seed, ARRAY_SIZE(to_page))](key);
}

static void clean_up(void)
{
	for (int key = 0; key < NR_KEYS; key++) {
		if (page_group[key] < 0)
			continue;
		while (page_pins[key]--)
			quire_group_page_unpin(groups, shelf.page[key]);
		shelf_remove(&shelf, (uint64_t)key);
	}
	for (int i = 0; i < NR_GROUPS; i++)
		if (is_there(i))
			quire_group_uncharge(model[i].handle, model[i].charged);
}

static void run(uint64_t with, struct quire_groups_options options)
{
	seed = with;
	zone = zone_of_numbers(16 * MIB);
	groups = groups_over(&zone, 1, options);
	shelf_open(&shelf, groups);
	shelf.on_drop = dropped;
	for (int i = 0; i < NR_GROUPS; i++)
		model[i].parent = -1;
	model[0] = (struct model_group){ quire_groups_root(groups), -1,
					 QUIRE_GROUP_NO_LIMIT, 0, false };
	for (int key = 0; key < NR_KEYS; key++)
		page_group[key] = -1;
	for (int i = 0; i < STEPS; i++) {
		do_step();
		check_all_usages();
	}
	clean_up();
	groups_done(groups);
	zone_done(zone, 0);
}

static void test_group_lock(void **state)
{
	(void)state;
	run(20261201, (struct quire_groups_options){ .max_groups = 40 });
}

static void test_node_lock(void **state)
{
	(void)state;
	run(77,
	    (struct quire_groups_options){ .lru_lock = QUIRE_LRU_LOCK_NODE });
}

static void test_lock_mode(void **state)
{
	(void)state;
	run(4711, (struct quire_groups_options){ .pcp = QUIRE_PCP_LOCK });
}

static void test_off(void **state)
{
	(void)state;
	run(99, (struct quire_groups_options){ .pcp = QUIRE_PCP_OFF,
					       .traces = SIZE_MAX });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_lock),
		cmocka_unit_test(test_node_lock),
		cmocka_unit_test(test_lock_mode),
		cmocka_unit_test(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
