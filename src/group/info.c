/* SPDX-License-Identifier: MIT */
/*
 * How groups stand: numbers, and text in the shape of cgroup v2's files.
 *
 * Numbers of a group are of it and all below it, added up when they are asked
 * for, so that nothing has to be kept in step on the way.
 */
#include "group/group.h"
#include "page/text.h"

struct sums {
	uint64_t list[NR_LRU];
	uint64_t count[NR_GROUP_COUNTS];
	int64_t isolated;
	uint64_t nr_groups;
};

static void add_group(struct sums *sums, struct group *group)
{
	struct quire_groups *groups = group->groups;

	for (unsigned int i = 0; i < NR_GROUP_COUNTS; i++)
		sums->count[i] += load_relaxed(&group->count[i]);
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct lruvec *vec = &group->vec[i];

		for (unsigned int k = 0; k < NR_LRU; k++)
			sums->list[k] += lruvec_size(vec, (enum lru)k);
		sums->isolated += load_relaxed(&vec->nr_isolated);
	}
	sums->nr_groups++;
}

static struct sums sum_below(struct group *top)
{
	struct sums sums = { .nr_groups = 0 };
	struct group *group = top;

	group_hold(top);
	do
		add_group(&sums, group);
	while ((group = group_next(top, group)));
	return sums;
}

static uint64_t usage_at_rest(struct group *group)
{
	uint64_t usage = group_usage(group), stocks = stock_pages(group);

	return usage > stocks ? usage - stocks : 0;
}

int group_describe(struct group *group, struct quire_group_facts *out)
{
	struct sums sums = sum_below(group);
	uint64_t listed = 0;

	for (unsigned int i = 0; i < NR_LRU; i++)
		listed += sums.list[i];
	if (sums.isolated > 0)
		listed += (uint64_t)sums.isolated;
	*out = (struct quire_group_facts){
		.size = sizeof(*out),
		.usage_pages = usage_at_rest(group),
		.peak_pages = load_relaxed(&group->peak),
		.inactive_pages = { sums.list[LRU_INACTIVE_FILE],
				    sums.list[LRU_INACTIVE_ANON] },
		.active_pages = { sums.list[LRU_ACTIVE_FILE],
				  sums.list[LRU_ACTIVE_ANON] },
		.unevictable_pages = sums.list[LRU_UNEVICTABLE],
		.isolated_pages =
			sums.isolated > 0 ? (uint64_t)sums.isolated : 0,
		.nr_groups = sums.nr_groups - 1,
	};
	if (out->usage_pages > listed)
		out->other_pages = out->usage_pages - listed;
	return 0;
}

/* Text */

static void bytes(struct text *to, const char *name, uint64_t pages)
{
	text_add(to, "%s %lu\n", name, (unsigned long)(pages << PAGE_SHIFT));
}

static void number(struct text *to, const char *name, uint64_t nr)
{
	text_add(to, "%s %lu\n", name, (unsigned long)nr);
}

static void print_sizes(struct text *to, const struct sums *sums,
			const struct quire_group_facts *facts)
{
	bytes(to, "anon",
	      sums->list[LRU_INACTIVE_ANON] + sums->list[LRU_ACTIVE_ANON]);
	bytes(to, "file",
	      sums->list[LRU_INACTIVE_FILE] + sums->list[LRU_ACTIVE_FILE]);
	bytes(to, "other", facts->other_pages);
	bytes(to, "inactive_anon", sums->list[LRU_INACTIVE_ANON]);
	bytes(to, "active_anon", sums->list[LRU_ACTIVE_ANON]);
	bytes(to, "inactive_file", sums->list[LRU_INACTIVE_FILE]);
	bytes(to, "active_file", sums->list[LRU_ACTIVE_FILE]);
	bytes(to, "unevictable", sums->list[LRU_UNEVICTABLE]);
	bytes(to, "isolated", facts->isolated_pages);
}

static void print_counts(struct text *to, const uint64_t *count)
{
	number(to, "workingset_refault_anon", count[GROUP_REFAULT + 1]);
	number(to, "workingset_refault_file", count[GROUP_REFAULT]);
	number(to, "workingset_activate_anon", count[GROUP_REFAULT_ACTIVE + 1]);
	number(to, "workingset_activate_file", count[GROUP_REFAULT_ACTIVE]);
	number(to, "pgscan", count[GROUP_SCANNED]);
	number(to, "pgsteal", count[GROUP_DROPPED]);
	number(to, "pgactivate", count[GROUP_ACTIVATED]);
	number(to, "pgdeactivate", count[GROUP_DEACTIVATED]);
	number(to, "pgrotated", count[GROUP_ROTATED]);
	number(to, "pgwritten", count[GROUP_CLEANED]);
	number(to, "pgmoved", count[GROUP_MOVED]);
}

static void print_events(struct text *to, const uint64_t *count)
{
	number(to, "low", count[GROUP_LOW]);
	number(to, "high", count[GROUP_HIGH]);
	number(to, "max", count[GROUP_AT_MAX]);
	number(to, "oom", count[GROUP_FAILED]);
	number(to, "oom_kill", 0);
}

int group_print(struct group *group, enum quire_group_text what, char *buf,
		size_t len)
{
	struct sums sums = sum_below(group);
	struct quire_group_facts facts;
	struct text to = { buf, len, 0 };

	group_describe(group, &facts);
	if (what == QUIRE_GROUP_EVENTS) {
		print_events(&to, sums.count);
	} else {
		print_sizes(&to, &sums, &facts);
		print_counts(&to, sums.count);
	}
	return (int)to.length;
}

/* All groups */

int groups_describe(struct quire_groups *groups, struct quire_groups_facts *out)
{
	static const uint32_t pcp[] = {
		[PERCPU_RSEQ] = QUIRE_PCP_RSEQ,
		[PERCPU_LOCK] = QUIRE_PCP_LOCK,
		[PERCPU_MASK] = QUIRE_PCP_MASK,
		[PERCPU_OFF] = QUIRE_PCP_OFF,
	};
	uint32_t threads = 0;

	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		threads += load_relaxed(&groups->node[i].has_thread);
	lock_take(&groups->tree_lock);
	*out = (struct quire_groups_facts){
		.size = sizeof(*out),
		.lru_lock = groups->lru_lock,
		.pcp = pcp[groups->stock.mode],
		.nr_zones = groups->nr_nodes,
		.nr_groups = groups->nr_alive,
		.nr_deleted = groups->nr_dead,
		.nr_threads = threads,
		.metadata_bytes = groups->metadata_bytes,
	};
	lock_release(&groups->tree_lock);
	return 0;
}

static void add_lock(const struct lock *lock, uint64_t *counter)
{
	counter[QUIRE_COUNTER_group_lock_takes] += load_relaxed(&lock->takes);
	counter[QUIRE_COUNTER_group_lock_contended] +=
		load_relaxed(&lock->contended);
	counter[QUIRE_COUNTER_group_lock_hold_cycles] +=
		load_relaxed(&lock->hold_cycles) * LOCK_SAMPLE;
}

static void count_locks(struct quire_groups *groups, uint64_t *counter)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		add_lock(&groups->node[i].lock, counter);
		for (uint32_t id = GROUP_ROOT; id < groups->nr_used; id++)
			add_lock(&group_of_id(groups, id)->vec[i].own, counter);
	}
}

static void add_counts(const uint64_t *count, uint64_t *counter)
{
	static const struct {
		unsigned int from;
		enum quire_counter to;
	} map[] = {
		{ GROUP_HIGH, QUIRE_COUNTER_group_at_high },
		{ GROUP_AT_MAX, QUIRE_COUNTER_group_at_max },
		{ GROUP_FAILED, QUIRE_COUNTER_group_failed },
		{ GROUP_ADDED, QUIRE_COUNTER_group_lru_added },
		{ GROUP_SCANNED, QUIRE_COUNTER_group_scanned },
		{ GROUP_DROPPED, QUIRE_COUNTER_group_dropped },
		{ GROUP_ACTIVATED, QUIRE_COUNTER_group_activated },
		{ GROUP_DEACTIVATED, QUIRE_COUNTER_group_deactivated },
		{ GROUP_ROTATED, QUIRE_COUNTER_group_rotated },
		{ GROUP_CLEANED, QUIRE_COUNTER_group_cleaned },
		{ GROUP_MOVED, QUIRE_COUNTER_group_moved },
		{ GROUP_REFAULT, QUIRE_COUNTER_group_refaulted },
		{ GROUP_REFAULT + 1, QUIRE_COUNTER_group_refaulted },
		{ GROUP_REFAULT_ACTIVE, QUIRE_COUNTER_group_refault_active },
		{ GROUP_REFAULT_ACTIVE + 1,
		  QUIRE_COUNTER_group_refault_active },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(map); i++)
		counter[map[i].to] += load_relaxed(&count[map[i].from]);
}

void groups_counters(struct quire_groups *groups,
		     uint64_t counter[QUIRE_NR_COUNTERS])
{
	static const enum quire_counter map[NR_GROUPS_COUNTS] = {
		[GROUPS_DELETED] = QUIRE_COUNTER_group_deleted,
		[GROUPS_CHARGE_SLOW] = QUIRE_COUNTER_group_charge_slow,
		[GROUPS_STOCK_DRAINED] = QUIRE_COUNTER_group_stock_drained,
		[GROUPS_WAITS] = QUIRE_COUNTER_group_waits,
		[GROUPS_BATCH] = QUIRE_COUNTER_group_lru_batch,
		[GROUPS_BACKGROUND] = QUIRE_COUNTER_group_background,
		[GROUPS_DIRECT] = QUIRE_COUNTER_group_direct,
		[GROUPS_MISUSE] = QUIRE_COUNTER_group_misuse,
		[GROUPS_THREAD_REFUSED] = QUIRE_COUNTER_group_thread_refused,
	};

	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] = 0;
	for (unsigned int i = 0; i < NR_GROUPS_COUNTS; i++)
		counter[map[i]] = load_relaxed(&groups->count[i]);
	lock_take(&groups->tree_lock);
	counter[QUIRE_COUNTER_group_alive] = groups->nr_alive;
	add_counts(groups->gone, counter);
	for (uint32_t id = GROUP_ROOT; id < groups->nr_used; id++)
		if (!is_free(group_of_id(groups, id)))
			add_counts(group_of_id(groups, id)->count, counter);
	count_locks(groups, counter);
	lock_release(&groups->tree_lock);
	counter[QUIRE_COUNTER_group_fallback] = groups->stock.mode_fell_back;
}
