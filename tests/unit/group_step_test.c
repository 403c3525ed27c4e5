/* SPDX-License-Identifier: MIT */
/*
 * Races of groups, one step at a time: a thread is stopped at a named point,
 * others run, and then it goes on (B.10-2, 7, 8; X1, X2, X8).  Only in builds
 * that have the points (-Dsteps=true).
 */
#include "groups.h"

#include "base/step.h"

#if CONFIG_STEP

static const char *stop_at;
static uint32_t stopped, go_on; /* atomic */
static pthread_t worker;

/* Whoever comes first waits there; all others pass. */
static void stop_there(const char *name)
{
	if (strcmp(name, stop_at) ||
	    __atomic_exchange_n(&stopped, 1, __ATOMIC_ACQ_REL))
		return;
	while (!load_acquire(&go_on))
		usleep(200);
}

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root, *parent, *group, *other;
static struct shelf shelf;
static void *page;
static int answer;

static void begin(void *(*body)(void *), const char *step)
{
	stop_at = step;
	store_release(&stopped, 0);
	store_release(&go_on, 0);
	step_hook = stop_there;
	assert_int_equal(pthread_create(&worker, NULL, body, NULL), 0);
	for (int i = 0; !load_acquire(&stopped); i++) {
		assert_true(i < 50000);
		usleep(200);
	}
}

static void let_go(void)
{
	store_release(&go_on, 1);
	pthread_join(worker, NULL);
	step_hook = NULL;
	quire_groups_check(groups);
}

static int setup(void **state)
{
	(void)state;
	zone = zone_of_numbers(64 * MIB);
	groups = groups_plain(&zone);
	root = quire_groups_root(groups);
	parent = group_in(root, QUIRE_GROUP_NO_LIMIT);
	group = group_in(parent, QUIRE_GROUP_NO_LIMIT);
	other = group_in(parent, QUIRE_GROUP_NO_LIMIT);
	shelf_open(&shelf, groups);
	page = shelf_add(&shelf, group, 1);
	quire_groups_drain(groups);
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

static void *put_back_now(void *arg)
{
	ASSERT(quire_group_page_put_back(groups, page) == 0);
	return arg;
}

static void *isolate_now(void *arg)
{
	answer = quire_group_page_isolate(groups, page);
	return arg;
}

static void *move_now(void *arg)
{
	answer = quire_group_page_move(groups, page, other);
	return arg;
}

static void *delete_now(void *arg)
{
	answer = quire_group_delete(group);
	return arg;
}

static void *reclaim_now(void *arg)
{
	answer = (int)quire_group_reclaim(group, 1);
	return arg;
}

static void *activate_now(void *arg)
{
	uint32_t number;
	struct node *node = groups_find(groups, page, &number);

	ASSERT(page_get(&node->page[number], PAGE_REF));
	batch_move(node, BATCH_ACTIVATE, &number, 1);
	return arg;
}

static void *charge_now(void *arg)
{
	answer = quire_group_charge(group, 1);
	return arg;
}

static void *keep_from_eviction(void *arg)
{
	answer = quire_group_page_set_evictable(groups, page, 0);
	return arg;
}

static uint64_t inactive(struct quire_group *of)
{
	return facts_of(of).inactive_pages[0];
}

/* 7: the group dies between the look and the lock: its parent's lock. */
static void test_dies_before_the_lock(void **state)
{
	(void)state;
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	begin(put_back_now, "lru: looked up, not locked");
	assert_int_equal(quire_group_delete(group), 0);
	let_go();
	assert_int_equal(record_of(groups, page)->group,
			 group_inside(parent)->id);
	assert_int_equal(inactive(parent), 1);
	assert_int_equal(facts_of(parent).isolated_pages, 0);
}

/* Twice: the parent, too. */
static void test_all_die_before_the_lock(void **state)
{
	(void)state;
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	begin(put_back_now, "lru: looked up, not locked");
	assert_int_equal(quire_group_delete(group), 0);
	assert_int_equal(quire_group_delete(other), 0);
	assert_int_equal(quire_group_delete(parent), 0);
	let_go();
	assert_int_equal(inactive(root), 1);
}

/* 2, X2: a mover that owns the page; the isolator gives up, and the reverse. */
static void test_mover_owns(void **state)
{
	(void)state;
	begin(move_now, "move: recharged");
	assert_int_equal(quire_group_page_isolate(groups, page), -EBUSY);
	assert_int_equal(inactive(group) + inactive(other), 0);
	assert_int_equal(facts_of(other).isolated_pages, 1);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(inactive(other), 1);
	assert_int_equal(inactive(group), 0);
}

static void test_isolator_comes_first(void **state)
{
	(void)state;
	begin(isolate_now, "isolate: owned, not locked");
	assert_int_equal(quire_group_page_move(groups, page, other), -EBUSY);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(inactive(group), 1);
}

static void test_mover_comes_first(void **state)
{
	(void)state;
	begin(isolate_now, "isolate: referenced, not owned");
	assert_int_equal(quire_group_page_move(groups, page, other), 0);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(facts_of(other).isolated_pages, 1);
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(inactive(other), 1);
}

/* It owns the page, which is still on the list of a group that dies. */
static void test_dies_while_owned(void **state)
{
	(void)state;
	begin(isolate_now, "isolate: owned, not locked");
	assert_int_equal(quire_group_delete(group), 0);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(inactive(parent), 1);
}

static void test_freed_while_referenced(void **state)
{
	(void)state;
	begin(isolate_now, "isolate: referenced, not owned");
	shelf_remove(&shelf, 1);
	let_go();
	assert_int_equal(answer, 0); /* it has the last reference now */
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(usage_of(root), 0);
}

/* X8: a batch in hand when its group goes. */
static void test_dies_while_in_a_batch(void **state)
{
	(void)state;
	begin(activate_now, "batch: owned, not locked");
	assert_int_equal(quire_group_delete(group), 0);
	let_go();
	assert_int_equal(facts_of(parent).active_pages[0], 1);
}

/* And the other way round: deleting has the page in hand. */
static void test_freed_while_inherited(void **state)
{
	(void)state;
	begin(delete_now, "delete: owned, not inherited");
	assert_int_equal(quire_group_page_isolate(groups, page), -EBUSY);
	shelf_remove(&shelf, 1);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(usage_of(root), 0);
}

static void test_moved_while_dying(void **state)
{
	(void)state;
	begin(delete_now, "delete: dead, not inherited");
	assert_int_equal(quire_group_page_move(groups, page, other), 0);
	assert_int_equal(quire_group_charge(group, 1), -ESTALE);
	let_go();
	assert_int_equal(inactive(other), 1);
	assert_int_equal(usage_of(parent), 1);
}

/* 8, X1: someone takes a reference when all have agreed to drop the page. */
static void test_referenced_before_the_freeze(void **state)
{
	(void)state;
	begin(reclaim_now, "shrink: clean, not frozen");
	assert_int_equal(quire_group_page_get(groups, page), 0);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(shelf.nr_drop, 0);
	assert_true(shelf.nr_put_back >= 1);
	assert_ptr_equal(shelf.page[1], page);
	assert_int_equal(inactive(group), 1);
	assert_int_equal(quire_group_page_put(groups, page), 0);
}

/* What is wanted changes between the choice of the list and the bit. */
static void test_unevictable_meanwhile(void **state)
{
	(void)state;
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	begin(put_back_now, "lru: linked, not published");
	assert_int_equal(quire_group_page_set_evictable(groups, page, 0), 0);
	let_go();
	assert_int_equal(facts_of(group).unevictable_pages, 1);
	assert_int_equal(inactive(group), 0);
}

static void test_isolated_meanwhile(void **state)
{
	(void)state;
	begin(keep_from_eviction, "evictable: said, not moved");
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	let_go();
	assert_int_equal(quire_group_page_put_back(groups, page), 0);
	assert_int_equal(facts_of(group).unevictable_pages, 1);
}

/* A stock that is left for a group that has just gone. */
static void test_stock_of_the_dead(void **state)
{
	(void)state;
	begin(charge_now, "stock: left");
	assert_int_equal(quire_group_delete(group), 0);
	let_go();
	assert_int_equal(answer, 0);
	assert_int_equal(quire_group_uncharge(group, 1), 0);
	assert_int_equal(group_usage(group_inside(root)), 1); /* the page */
}

/* Who charges meanwhile what reclaim has just made room for gets it. */
static void test_room_is_taken(void **state)
{
	(void)state;
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_MAX, 1), 0);
	begin(charge_now, "charge: at max");
	assert_int_equal(quire_group_charge(group, 1), 0);
	let_go();
	assert_int_equal(answer, -EBUSY);
	assert_int_equal(usage_of(group), 1);
	assert_int_equal(quire_group_uncharge(group, 1), 0);
}

static void *free_now(void *arg)
{
	ASSERT(quire_group_page_put(groups, page) == 0);
	return arg;
}

/* The last page of a dead group goes, and someone asks for the group. */
static void test_last_page_of_the_dead(void **state)
{
	(void)state;
	assert_int_equal(quire_group_page_isolate(groups, page), 0);
	assert_int_equal(quire_group_delete(group), 0);
	assert_int_equal(quire_group_page_put(groups, page), 0);
	shelf.page[1] = NULL;
	begin(free_now, "group: nothing left");
	assert_int_equal(quire_group_charge(group, 1), -ESTALE);
	assert_int_equal(quire_group_create(group, &other), -ESTALE);
	let_go();
	assert_int_equal(usage_of(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_dies_before_the_lock),
		T(test_all_die_before_the_lock),
		T(test_mover_owns),
		T(test_isolator_comes_first),
		T(test_mover_comes_first),
		T(test_dies_while_owned),
		T(test_freed_while_referenced),
		T(test_dies_while_in_a_batch),
		T(test_freed_while_inherited),
		T(test_moved_while_dying),
		T(test_referenced_before_the_freeze),
		T(test_unevictable_meanwhile),
		T(test_isolated_meanwhile),
		T(test_stock_of_the_dead),
		T(test_room_is_taken),
		T(test_last_page_of_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
