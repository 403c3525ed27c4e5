/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: which pages go, of which groups (G4), who is spared, what comes back
 * (G6), two kinds, several zones, and zones that run low.
 */
#include "groups.h"

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root;
static struct shelf shelf;

static void open_with(struct quire_groups_options options, size_t bytes)
{
	zone = zone_of_numbers(bytes);
	groups = groups_over(&zone, 1, options);
	root = quire_groups_root(groups);
	shelf_open(&shelf, groups);
}

static int setup(void **state)
{
	(void)state;
	open_with((struct quire_groups_options){ 0 }, 256 * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shelf_clear(&shelf);
	groups_done(groups);
	zone_done(zone, 0);
	return 0;
}

static void fill(struct quire_group *group, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		assert_non_null(shelf_add(&shelf, group, from));
	quire_groups_drain(groups);
}

static void touch_twice(uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		quire_group_page_touch(groups, shelf.page[from]);
		quire_group_page_touch(groups, shelf.page[from]);
	}
	quire_groups_drain(groups);
}

static void test_oldest_first(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	fill(group, 0, 1000);
	assert_int_equal(quire_group_reclaim(group, 100), 100);
	assert_int_equal(shelf_held(&shelf, 0, 100), 0);
	assert_int_equal(shelf_held(&shelf, 100, 1000), 900);
	quire_groups_check(groups);
}

static void test_second_chance(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	fill(group, 0, 100);
	for (uint64_t key = 0; key < 50; key++)
		quire_group_page_touch(groups, shelf.page[key]);
	assert_int_equal(quire_group_reclaim(group, 50), 50);
	assert_int_equal(shelf_held(&shelf, 0, 50), 50);
	assert_int_equal(shelf_held(&shelf, 50, 100), 0);
	assert_int_equal(quire_group_reclaim(group, 50), 50);
	assert_int_equal(shelf_held(&shelf, 0, 100), 0);
}

/* Pages in use survive those that are not, however many come. */
static void test_active_survive(void **state)
{
	struct quire_group *group = group_in(root, 1000);

	(void)state;
	fill(group, 0, 400);
	touch_twice(0, 400);
	for (uint64_t key = 1000; key < 20000; key++)
		assert_non_null(shelf_add(&shelf, group, key));
	assert_int_equal(shelf_held(&shelf, 0, 400), 400);
	assert_true(usage_of(group) <= 1000);
	quire_groups_check(groups);
}

static void test_active_age(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	fill(group, 0, 200);
	touch_twice(0, 200);
	assert_int_equal(facts_of(group).active_pages[0], 200);
	assert_int_equal(quire_group_reclaim(group, 150), 150);
	assert_int_equal(quire_group_reclaim(group, 150), 50);
	assert_int_equal(usage_of(group), 0);
	assert_true(GROUPS_COUNTER(groups, group_deactivated) >= 150);
}

static void test_pinned_do_not_hinder(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	fill(group, 0, 500);
	for (uint64_t key = 0; key < 300; key++)
		quire_group_page_pin(groups, shelf.page[key]);
	assert_int_equal(quire_group_reclaim(group, 200), 200);
	assert_int_equal(quire_group_reclaim(group, 1), 0);
	assert_int_equal(shelf_held(&shelf, 0, 300), 300);
	for (uint64_t key = 0; key < 300; key++)
		quire_group_page_unpin(groups, shelf.page[key]);
	assert_int_equal(quire_group_reclaim(group, 300), 300);
}

/* G4: three levels, and the limit hit at each of them. */
static void test_right_subtree(void **state)
{
	struct quire_group *a = group_in(root, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *b = group_in(root, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a1 = group_in(a, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a2 = group_in(a, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a11 = group_in(a1, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a12 = group_in(a1, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	fill(b, 0, 1000);
	fill(a2, 1000, 2000);
	fill(a11, 2000, 3000);
	fill(a12, 3000, 4000);
	/* the leaf's own */
	assert_int_equal(quire_group_set_limit(a11, QUIRE_GROUP_MAX, 1000), 0);
	fill(a11, 4000, 4500);
	assert_true(usage_of(a11) > 960 && usage_of(a11) <= 1000);
	assert_int_equal(shelf_held(&shelf, 0, 2000), 2000);
	assert_int_equal(shelf_held(&shelf, 3000, 4000), 1000);
	/* its parent's: of the two leaves */
	assert_int_equal(quire_group_set_limit(a1, QUIRE_GROUP_MAX, 1500), 0);
	assert_int_equal(usage_of(a1), 1500);
	assert_true(usage_of(a12) < 1000 && usage_of(a11) < 1000);
	assert_int_equal(shelf_held(&shelf, 0, 2000), 2000);
	/* and the top one's */
	assert_int_equal(quire_group_set_limit(a, QUIRE_GROUP_MAX, 1800), 0);
	assert_int_equal(usage_of(a), 1800);
	assert_true(usage_of(a2) < 1000);
	assert_int_equal(shelf_held(&shelf, 0, 1000), 1000);
	assert_int_equal(usage_of(root), 2800);
	quire_groups_check(groups);
}

static void test_protection(void **state)
{
	struct quire_group *top = group_in(root, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a = group_in(top, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *b = group_in(top, QUIRE_GROUP_NO_LIMIT);
	char text[512];

	(void)state;
	fill(a, 0, 500);
	fill(b, 1000, 1500);
	assert_int_equal(quire_group_set_limit(a, QUIRE_GROUP_MIN, 200), 0);
	assert_int_equal(quire_group_set_limit(a, QUIRE_GROUP_LOW, 400), 0);
	assert_int_equal(quire_group_reclaim(top, 600), 600);
	assert_int_equal(usage_of(a), 400);
	assert_int_equal(usage_of(b), 0);
	quire_group_print(a, QUIRE_GROUP_EVENTS, text, sizeof(text));
	assert_non_null(strstr(text, "low 0"));
	/* low gives way when there is nothing else, min never */
	assert_int_equal(quire_group_reclaim(top, 1000), 200);
	assert_int_equal(usage_of(a), 200);
	quire_group_print(a, QUIRE_GROUP_EVENTS, text, sizeof(text));
	assert_null(strstr(text, "low 0"));
	assert_int_equal(quire_group_reclaim(top, 1000), 0);
	/* of the group itself they protect nothing */
	assert_int_equal(quire_group_reclaim(a, 50), 50);
}

/* What is below a protected group shares its protection. */
static void test_shared_protection(void **state)
{
	struct quire_group *top = group_in(root, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a = group_in(top, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a1 = group_in(a, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *a2 = group_in(a, QUIRE_GROUP_NO_LIMIT);
	struct protection spared;

	(void)state;
	assert_int_equal(quire_group_charge(a1, 300), 0);
	assert_int_equal(quire_group_charge(a2, 100), 0);
	stock_drain(groups);
	quire_group_set_limit(a, QUIRE_GROUP_MIN, 200);
	quire_group_set_limit(a1, QUIRE_GROUP_MIN, 300);
	quire_group_set_limit(a2, QUIRE_GROUP_MIN, 1000);
	spared = group_protection(group_inside(top), group_inside(a));
	assert_int_equal(spared.min, 200);
	spared = group_protection(group_inside(top), group_inside(a1));
	assert_int_equal(spared.min, 150);
	spared = group_protection(group_inside(top), group_inside(a2));
	assert_int_equal(spared.min, 50);
	spared = group_protection(group_inside(a), group_inside(a2));
	assert_int_equal(spared.min, 100);
	quire_group_uncharge(a1, 300);
	quire_group_uncharge(a2, 100);
}

/* Use a key: the share of hits is what reclaim is judged by. */
static bool use(struct quire_group *group, uint64_t key)
{
	void *page = shelf.page[key];

	if (page) {
		quire_group_page_touch(groups, page);
		return true;
	}
	ASSERT(shelf_add(&shelf, group, key));
	return false;
}

/* Pages that come back sooner than those in use are used stay. */
static void test_refault(void **state)
{
	struct quire_group *group = group_in(root, 1000);
	unsigned int hits = 0;

	(void)state;
	/* 800 go round and round, 300 are in use for nothing */
	fill(group, 0, 600);
	touch_twice(0, 600);
	for (unsigned int round = 0; round < 20; round++)
		for (uint64_t key = 1000; key < 1800; key++)
			hits += use(group, key) && round > 15;
	assert_int_not_equal(GROUPS_COUNTER(groups, group_refaulted), 0);
	assert_int_not_equal(GROUPS_COUNTER(groups, group_refault_active), 0);
	/* the ones that were are dropped, and the others are hit */
	assert_true(hits > 4 * 800 * 9 / 10);
	assert_true(shelf_held(&shelf, 0, 600) < 300);
	quire_groups_check(groups);
}

/* A scan leaves no trace that helps it, and what is in use stays. */
static void test_scan(void **state)
{
	struct quire_group *group = group_in(root, 1000);
	unsigned int hits = 0, all = 0;
	uint64_t at = 1000;

	(void)state;
	fill(group, 0, 400);
	touch_twice(0, 400);
	for (unsigned int round = 0; round < 50; round++) {
		for (uint64_t key = 0; key < 400; key++) {
			bool hit = use(group, key);

			hits += hit && round > 2;
			all += round > 2;
		}
		for (int i = 0; i < 1000; i++, at++)
			use(group, at);
		if (at > 60000)
			at = 1000;
	}
	assert_true(hits * 100.0 > all * 99.0);
}

/* G6: tenant A scans ten times its limit; tenant B hits as if alone. */
static unsigned int hits_of_b(struct quire_group *b, struct quire_group *a)
{
	uint64_t random = 4711, at = 10000;
	unsigned int hits = 0;

	for (int i = 0; i < 40000; i++) {
		uint64_t key = random_below(&random, 3)
				       ? random_below(&random, 400)
				       : 400 + random_below(&random, 1200);

		hits += use(b, key);
		for (int k = 0; a && k < 2; k++) {
			use(a, at);
			at = at == 19999 ? 10000 : at + 1;
		}
	}
	return hits;
}

static void test_tenants(void **state)
{
	struct quire_group *top = group_in(root, 3000);
	struct quire_group *a = group_in(top, 1000), *b = group_in(top, 1000);
	unsigned int alone, beside;

	(void)state;
	alone = hits_of_b(b, NULL);
	quire_group_reclaim(top, 10000);
	quire_group_reclaim(top, 10000);
	shelf_clear(&shelf);
	beside = hits_of_b(b, a);
	assert_true(alone > 20000);
	assert_true(beside * 100.0 > alone * 99.0);
	assert_true(usage_of(a) <= 1000 && usage_of(b) <= 1000);
}

/* The kind that costs nothing to drop is dropped. */
static void test_kinds(void **state)
{
	struct quire_group *group = group_in(root, 2000);
	struct quire_page_request request;
	unsigned int files = 0, anons = 0;

	(void)state;
	for (uint64_t key = 0; key < 30000; key++) {
		request = request_of(&shelf, key);
		request.kind = key % 2 ? QUIRE_PAGE_ANON : QUIRE_PAGE_FILE;
		shelf.dirty[key] = key % 2;
		assert_non_null(shelf_make(&shelf, group, &request));
	}
	for (uint64_t key = 0; key < 30000; key++) {
		files += !(key % 2) && shelf.page[key];
		anons += key % 2 && shelf.page[key];
	}
	assert_true(anons > files);
	assert_true(files > 0);
	assert_int_equal(shelf.nr_clean > 0, 1);
	quire_groups_check(groups);
}

/* An owner that allocates in a callback is served, or refused, but not
 * reclaimed for. */
static struct quire_group *nested;
static unsigned int nr_nested;

static void alloc_inside(struct shelf *s, uint64_t key)
{
	struct quire_page_request request = { .size = sizeof(request) };
	void *page = quire_group_page_alloc(nested, &request);

	(void)key;
	nr_nested++;
	if (page)
		quire_group_page_put(s->groups, page);
}

static void test_alloc_in_callback(void **state)
{
	(void)state;
	nested = group_in(root, 100);
	fill(nested, 0, 100);
	shelf.on_drop = alloc_inside;
	fill(nested, 100, 300);
	assert_true(nr_nested >= 200);
	assert_true(usage_of(nested) <= 100);
	shelf.on_drop = NULL;
}

/* ---- zones ---- */

static void test_zones(void **state)
{
	struct quire_zone *zones[3];
	struct quire_groups *over;
	struct quire_group *group;
	struct quire_page_request request;

	teardown(state);
	for (int i = 0; i < 3; i++) {
		struct quire_zone_options options = zone_plain();

		options.memory = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		options.bytes = 16 * MIB;
		zones[i] = zone_with(options);
	}
	over = groups_over(zones, 3, (struct quire_groups_options){ 0 });
	shelf_open(&shelf, over);
	group = group_in(quire_groups_root(over), 900);
	for (uint64_t key = 0; key < 3000; key++) {
		request = request_of(&shelf, key);
		request.zone = key % 3;
		assert_non_null(shelf_make(&shelf, group, &request));
	}
	quire_groups_drain(over);
	quire_groups_check(over);
	assert_int_equal(facts_of(group).usage_pages,
			 shelf_held(&shelf, 0, 3000));
	/* one that is full leads to the next */
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_MAX,
					       QUIRE_GROUP_NO_LIMIT),
			 0);
	for (uint64_t key = 3000; key < 3000 + 9000; key++) {
		request = request_of(&shelf, key);
		assert_non_null(shelf_make(&shelf, group, &request));
	}
	assert_int_equal(quire_group_delete(group), 0);
	shelf_clear(&shelf);
	groups_done(over);
	for (int i = 0; i < 3; i++) {
		void *memory = quire_zone_address(zones[i]);

		zone_done(zones[i], 0);
		munmap(memory, 16 * MIB);
	}
	setup(state);
}

/* Was there a thread? */
static bool low_zone(uint32_t flags)
{
	struct quire_groups_facts facts = { .size = sizeof(facts) };

	open_with((struct quire_groups_options){ .flags = flags }, 32 * MIB);
	for (uint64_t key = 0; key < 30000; key++)
		assert_non_null(shelf_add(&shelf, root, key));
	assert_true(load_relaxed(&shelf.nr_drop) > 20000);
	quire_groups_describe(groups, &facts);
	/* until it has had its turn */
	for (uint64_t key = 30000; facts.nr_threads && key < 60000 &&
				   !GROUPS_COUNTER(groups, group_background);
	     key++) {
		assert_non_null(shelf_add(&shelf, root, key));
		if (key % 64 == 0)
			usleep(1000);
	}
	quire_groups_drain(groups);
	quire_groups_check(groups);
	return facts.nr_threads;
}

static void test_low_without_thread(void **state)
{
	teardown(state);
	assert_false(low_zone(QUIRE_GROUPS_NO_THREAD));
	assert_int_equal(GROUPS_COUNTER(groups, group_background), 0);
	assert_int_not_equal(GROUPS_COUNTER(groups, group_direct), 0);
}

static void test_low_with_thread(void **state)
{
	teardown(state);
	if (CONFIG_UP) {
		setup(state);
		skip();
	}
	assert_true(low_zone(0));
	assert_int_not_equal(GROUPS_COUNTER(groups, group_background), 0);
}

static void test_strict_starts_threads(void **state)
{
	struct quire_groups_options options = { .size = sizeof(options),
						.flags = QUIRE_GROUPS_STRICT };
	struct quire_groups_facts facts = { .size = sizeof(facts) };

	(void)state;
	if (CONFIG_UP)
		skip();
	groups_done(groups);
	options.zones = &zone;
	options.nr_zones = 1;
	assert_int_equal(quire_groups_open(&options, &groups), 0);
	quire_groups_describe(groups, &facts);
	assert_int_equal(facts.nr_threads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_oldest_first),
		T(test_second_chance),
		T(test_active_survive),
		T(test_active_age),
		T(test_pinned_do_not_hinder),
		T(test_right_subtree),
		T(test_protection),
		T(test_shared_protection),
		T(test_refault),
		T(test_scan),
		T(test_tenants),
		T(test_kinds),
		T(test_alloc_in_callback),
		T(test_zones),
		T(test_low_without_thread),
		T(test_low_with_thread),
		T(test_strict_starts_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
