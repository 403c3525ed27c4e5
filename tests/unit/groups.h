/* SPDX-License-Identifier: MIT */
/*
 * What the tests of groups have in common: zones of numbers, and an owner that
 * keeps its pages on a shelf by their key.
 */
#ifndef TESTS_UNIT_GROUPS_H
#define TESTS_UNIT_GROUPS_H

#include "pages.h"

#include <quire/group.h>

#include "group/find.h"

#define SHELF 65536

struct shelf {
	struct quire_groups *groups;
	uint32_t owner;
	void *page[SHELF];    /* by key; atomic */
	uint8_t dirty[SHELF]; /* clean is needed first */
	int refuse[SHELF];    /* what isolate and clean answer, if not 0 */
	uint8_t isolated[SHELF];
	unsigned int nr_isolate, nr_clean, nr_drop, nr_put_back; /* atomic */
	void (*on_drop)(struct shelf *shelf, uint64_t key);
	void (*on_isolate)(struct shelf *shelf, uint64_t key);
};

static inline int shelf_isolate(void *arg, void *page, uint64_t key)
{
	struct shelf *shelf = arg;

	ASSERT(!lock_holds_any()); /* I-B4 */
	add_relaxed(&shelf->nr_isolate, 1);
	if (load_acquire(&shelf->page[key]) != page)
		return -ENOENT; /* given up a moment ago */
	if (shelf->on_isolate)
		shelf->on_isolate(shelf, key);
	if (shelf->refuse[key])
		return shelf->refuse[key];
	ASSERT(!shelf->isolated[key]);
	shelf->isolated[key] = 1;
	return shelf->dirty[key] ? QUIRE_ISOLATE_DIRTY : 0;
}

static inline int shelf_clean(void *arg, void *page, uint64_t key)
{
	struct shelf *shelf = arg;

	(void)page;
	ASSERT(!lock_holds_any());
	ASSERT(shelf->isolated[key] && shelf->dirty[key]);
	add_relaxed(&shelf->nr_clean, 1);
	if (shelf->dirty[key] > 1)
		return -EAGAIN;
	shelf->dirty[key] = 0;
	return 0;
}

static inline void shelf_drop(void *arg, void *page, uint64_t key)
{
	struct shelf *shelf = arg;

	ASSERT(!lock_holds_any()); /* spec X9 */
	ASSERT(shelf->isolated[key]);
	ASSERT(load_acquire(&shelf->page[key]) == page);
	ASSERT(quire_group_page_get(shelf->groups, page) == -EFAULT);
	shelf->isolated[key] = 0;
	add_relaxed(&shelf->nr_drop, 1);
	if (shelf->on_drop)
		shelf->on_drop(shelf, key);
	store_release(&shelf->page[key], NULL);
}

static inline void shelf_put_back(void *arg, void *page, uint64_t key)
{
	struct shelf *shelf = arg;

	ASSERT(!lock_holds_any());
	ASSERT(load_acquire(&shelf->page[key]) == page);
	ASSERT(shelf->isolated[key]);
	shelf->isolated[key] = 0;
	add_relaxed(&shelf->nr_put_back, 1);
}

static inline void shelf_open(struct shelf *shelf, struct quire_groups *groups)
{
	struct quire_owner owner = {
		.size = sizeof(owner),
		.arg = shelf,
		.isolate = shelf_isolate,
		.clean = shelf_clean,
		.drop = shelf_drop,
		.put_back = shelf_put_back,
	};

	memset(shelf, 0, sizeof(*shelf));
	shelf->groups = groups;
	assert_int_equal(quire_owner_add(groups, &owner, &shelf->owner), 0);
}

static inline struct quire_page_request request_of(const struct shelf *shelf,
						   uint64_t key)
{
	return (struct quire_page_request){
		.size = sizeof(struct quire_page_request),
		.owner = shelf->owner,
		.key = key,
	};
}

/* A page that may be reclaimed; NULL and errno. */
static inline void *shelf_make(struct shelf *shelf, struct quire_group *group,
			       const struct quire_page_request *request)
{
	void *page = quire_group_page_alloc(group, request);

	if (!page)
		return NULL;
	ASSERT(!load_relaxed(&shelf->page[request->key]));
	store_release(&shelf->page[request->key], page);
	ASSERT(quire_group_page_add(shelf->groups, page) == 0);
	return page;
}

static inline void *shelf_add(struct shelf *shelf, struct quire_group *group,
			      uint64_t key)
{
	struct quire_page_request request = request_of(shelf, key);

	return shelf_make(shelf, group, &request);
}

static inline void shelf_remove(struct shelf *shelf, uint64_t key)
{
	void *page = shelf->page[key];

	assert_non_null(page);
	shelf->page[key] = NULL;
	assert_int_equal(quire_group_page_put(shelf->groups, page), 0);
}

static inline void shelf_clear(struct shelf *shelf)
{
	for (uint64_t key = 0; key < SHELF; key++)
		if (shelf->page[key])
			shelf_remove(shelf, key);
}

static inline unsigned int shelf_held(const struct shelf *shelf, uint64_t from,
				      uint64_t to)
{
	unsigned int nr = 0;

	for (; from < to; from++)
		nr += shelf->page[from] != NULL;
	return nr;
}

/* ---- instances ---- */

static inline struct quire_groups *groups_over(
	struct quire_zone *const *zones, size_t nr,
	struct quire_groups_options options)
{
	struct quire_groups *groups;

	options.size = sizeof(options);
	options.zones = zones;
	options.nr_zones = nr;
	assert_int_equal(quire_groups_open(&options, &groups), 0);
	quire_groups_check(groups);
	return groups;
}

static inline struct quire_groups *groups_plain(struct quire_zone *const *zone)
{
	return groups_over(zone, 1, (struct quire_groups_options){ 0 });
}

static inline struct quire_group *group_in(struct quire_group *parent,
					   uint64_t max)
{
	struct quire_group *group;

	assert_int_equal(quire_group_create(parent, &group), 0);
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_MAX, max), 0);
	return group;
}

static inline struct quire_group_facts facts_of(struct quire_group *group)
{
	struct quire_group_facts facts = { .size = sizeof(facts) };

	assert_int_equal(quire_group_describe(group, &facts), 0);
	return facts;
}

static inline uint64_t usage_of(struct quire_group *group)
{
	return facts_of(group).usage_pages;
}

static inline uint64_t groups_counter(struct quire_groups *groups,
				      enum quire_counter which)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	quire_groups_counters(groups, counter);
	return counter[which];
}

#define GROUPS_COUNTER(groups, name)                                           \
	groups_counter((groups), QUIRE_COUNTER_##name)

/* Nothing is charged, isolated or deleted but not gone. */
static inline void groups_done(struct quire_groups *groups)
{
	struct quire_groups_facts facts = { .size = sizeof(facts) };

	quire_groups_drain(groups);
	quire_groups_check(groups);
	assert_int_equal(quire_groups_describe(groups, &facts), 0);
	assert_int_equal(facts.nr_deleted, 0);
	assert_int_equal(facts_of(quire_groups_root(groups)).isolated_pages,
			 0); /* O4 */
	assert_int_equal(quire_groups_close(groups), 0);
}

/* ---- looking inside ---- */

static inline struct group_page *record_of(struct quire_groups *groups,
					   const void *page)
{
	uint32_t nr;
	struct node *node = groups_find(groups, page, &nr);

	assert_non_null(node);
	return &node->page[nr];
}

static inline uint32_t flags_of(struct quire_groups *groups, const void *page)
{
	return page_flags(record_of(groups, page));
}

static inline struct group *group_inside(struct quire_group *handle)
{
	return group_of_handle(handle);
}

/* Keys of a list, newest first; returns how many. */
static inline size_t keys_of(struct quire_group *handle, enum lru which,
			     uint64_t *keys, size_t max)
{
	struct lruvec *vec = &group_inside(handle)->vec[0];
	size_t nr = 0;

	for (uint32_t at = vec->list[which].head; at != NO_PAGE && nr < max;
	     at = vec->node->page[at].next)
		keys[nr++] = vec->node->page[at].key;
	return nr;
}

#endif /* TESTS_UNIT_GROUPS_H */
