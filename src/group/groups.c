/* SPDX-License-Identifier: MIT */
/*
 * Instances come and go.
 *
 * What an instance takes from the system, in the order in which it is taken;
 * given back in the other when one of them fails:
 *
 *	itself, with its nodes ── table of groups ── locks for fork ── stocks
 *	── traces ── for each node: records of pages, batches
 *
 * Only then are zones told whom to call when they run low, and is the instance
 * in the registry.  All of it but the first is mapped and not touched.
 */
#include <errno.h>

#include "base/assert.h"
#include "group/group.h"

static struct {
	struct lock lock;
	/* groups lock */
	struct list all;
} registry = {
	.lock = { .rank = RANK_GROUPS },
	.all = { &registry.all, &registry.all },
};

struct lock *groups_lock(void)
{
	return &registry.lock;
}

struct list *groups_all(void)
{
	return &registry.all;
}

/* Opening */

static int map(size_t bytes, void **out, struct quire_groups *groups)
{
	int error = os->map_backed(bytes, PAGE_SIZE, OS_LAZY, out);

	if (!error)
		groups->metadata_bytes += bytes;
	return error;
}

static size_t groups_bytes(size_t nr_nodes)
{
	return sizeof(struct quire_groups) + nr_nodes * sizeof(struct node);
}

static size_t default_traces(const struct quire_groups_options *options)
{
	size_t nr = 0;

	if (options->traces == SIZE_MAX)
		return 0;
	if (options->traces)
		return options->traces;
	for (size_t i = 0; i < options->nr_zones; i++)
		nr += options->zones[i]->managed_pages / 2;
	return nr;
}

static int open_table(struct quire_groups *groups)
{
	size_t bytes =
		sizeof(struct group) + groups->nr_nodes * sizeof(struct lruvec);
	void *memory;
	int error;

	if (!round_up_checked(bytes, PAGE_SIZE, &groups->pitch))
		return -EINVAL;
	groups->table_bytes = groups->pitch * (groups->max_groups + 1);
	error = map(groups->table_bytes, &memory, groups);
	if (error)
		return error;
	groups->table = memory;
	groups->lock_bytes = (size_t)(groups->max_groups + 1) *
			     groups->nr_nodes * sizeof(struct lock *);
	error = map(groups->lock_bytes, &memory, groups);
	if (error)
		os->unmap(groups->table, groups->table_bytes);
	else
		groups->all_locks = memory;
	return error;
}

static void close_table(struct quire_groups *groups)
{
	os->unmap(groups->all_locks, groups->lock_bytes);
	os->unmap(groups->table, groups->table_bytes);
}

static int open_node(struct node *node, struct quire_zone *zone,
		     enum percpu_mode want)
{
	void *memory;
	int error;

	node->zone = zone;
	node->start = zone->map.start;
	node->nr_numbers = zone->map.end - zone->map.start;
	node->page_bytes = round_down_to(zone->end * sizeof(struct group_page) +
						 PAGE_SIZE - 1,
					 PAGE_SIZE);
	lock_init(&node->lock, RANK_LRU);
	error = map(node->page_bytes, &memory, node->groups);
	if (error)
		return error;
	error = batch_init(node, want);
	if (error)
		os->unmap(memory, node->page_bytes);
	else
		node->page = memory;
	node->groups->metadata_bytes += node->batches.bytes;
	return error;
}

static void close_nodes(struct quire_groups *groups, uint32_t nr)
{
	while (nr--) {
		percpu_destroy(&groups->node[nr].batches);
		os->unmap(groups->node[nr].page, groups->node[nr].page_bytes);
	}
}

static int open_nodes(struct quire_groups *groups,
		      const struct quire_groups_options *options,
		      enum percpu_mode want)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct node *node = &groups->node[i];
		int error;

		node->groups = groups;
		node->index = i;
		error = open_node(node, options->zones[i], want);
		if (!error)
			continue;
		close_nodes(groups, i);
		return error;
	}
	return 0;
}

static enum percpu_mode mode_of(uint32_t pcp)
{
	static const enum percpu_mode modes[] = {
		[QUIRE_PCP_AUTO] = PERCPU_RSEQ, [QUIRE_PCP_RSEQ] = PERCPU_RSEQ,
		[QUIRE_PCP_LOCK] = PERCPU_LOCK, [QUIRE_PCP_MASK] = PERCPU_MASK,
		[QUIRE_PCP_OFF] = PERCPU_OFF,
	};

	return modes[pcp];
}

static int open_stocks(struct quire_groups *groups,
		       const struct quire_groups_options *options)
{
	int error = stock_init(groups, mode_of(options->pcp));

	if (error)
		return error;
	if (groups->flags & QUIRE_GROUPS_STRICT &&
	    options->pcp == QUIRE_PCP_RSEQ && groups->stock.mode_fell_back) {
		percpu_destroy(&groups->stock);
		return -EOPNOTSUPP;
	}
	groups->metadata_bytes += groups->stock.bytes;
	error = trace_init(groups, default_traces(options));
	if (error)
		percpu_destroy(&groups->stock);
	groups->metadata_bytes += groups->trace_bytes;
	return error;
}

static void close_stocks(struct quire_groups *groups)
{
	if (groups->traces)
		os->unmap(groups->traces, groups->trace_bytes);
	percpu_destroy(&groups->stock);
}

static int open_parts(struct quire_groups *groups,
		      const struct quire_groups_options *options)
{
	int error = open_table(groups);

	if (error)
		return error;
	error = open_stocks(groups, options);
	if (error)
		goto close_table;
	error = open_nodes(groups, options, mode_of(options->pcp));
	if (error)
		goto close_stocks;
	tree_init(groups);
	return 0;
close_stocks:
	close_stocks(groups);
close_table:
	close_table(groups);
	return error;
}

static void unhook(struct quire_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		background_stop(&groups->node[i]);
		groups->node[i].zone->reclaim = NULL;
		groups->node[i].zone->reclaim_arg = NULL;
	}
}

static int hook(struct quire_groups *groups)
{
	bool strict = groups->flags & QUIRE_GROUPS_STRICT &&
		      !(groups->flags & QUIRE_GROUPS_NO_THREAD);

	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct node *node = &groups->node[i];

		node->zone->reclaim_arg = node;
		node->zone->reclaim = node_reclaim_hook;
	}
	for (uint32_t i = 0; strict && i < groups->nr_nodes; i++)
		if (background_start(&groups->node[i])) {
			unhook(groups);
			return -EOPNOTSUPP;
		}
	return 0;
}

static struct quire_groups *new_groups(
	const struct quire_groups_options *options)
{
	struct quire_groups *groups;
	void *memory;

	if (os->map(groups_bytes(options->nr_zones), PAGE_SIZE, &memory))
		return NULL;
	groups = memory;
	groups->metadata_bytes = groups_bytes(options->nr_zones);
	groups->nr_nodes = (uint32_t)options->nr_zones;
	groups->max_groups = options->max_groups ? options->max_groups : 4096;
	groups->lru_lock = options->lru_lock;
	groups->flags = options->flags;
	lock_init(&groups->drain_lock, RANK_GROUP_DRAIN);
	lock_init(&groups->thread_lock, RANK_GROUP_THREAD);
	return groups;
}

static void free_groups(struct quire_groups *groups)
{
	os->unmap(groups, groups_bytes(groups->nr_nodes));
}

static bool zones_are_free(const struct quire_groups_options *options)
{
	for (size_t i = 0; i < options->nr_zones; i++)
		if (options->zones[i]->reclaim)
			return false;
	return true;
}

int groups_open(const struct quire_groups_options *options,
		struct quire_groups **out)
{
	struct quire_groups *groups;
	int error = groups_at_fork();

	if (error)
		return error;
	if (!zones_are_free(options))
		return -EBUSY;
	groups = new_groups(options);
	if (!groups)
		return -ENOMEM;
	error = open_parts(groups, options);
	if (error)
		goto free;
	error = hook(groups);
	if (error)
		goto close_parts;
	lock_take(&registry.lock);
	list_add_tail(&registry.all, &groups->link);
	lock_release(&registry.lock);
	*out = groups;
	return 0;
close_parts:
	close_nodes(groups, groups->nr_nodes);
	close_stocks(groups);
	close_table(groups);
free:
	free_groups(groups);
	return error;
}

/* Pages that are still charged become plain blocks. */
static void let_go(struct node *node)
{
	const struct memmap *map = &node->zone->map;

	for (uint32_t page = map->start; page < map->end; page++) {
		unsigned int state = map->state[page];

		if (state_is_charged(state))
			map->state[page] =
				(uint8_t)(STATE_HEAD | STATE_ORDER(state));
	}
}

long groups_close(struct quire_groups *groups)
{
	struct group *root = group_of_id(groups, GROUP_ROOT);
	long charged;

	unhook(groups);
	groups_drain(groups);
	charged = (long)group_usage(root);
	for (uint32_t i = 0; charged && i < groups->nr_nodes; i++)
		let_go(&groups->node[i]);
	lock_take(&registry.lock);
	list_remove(&groups->link);
	lock_release(&registry.lock);
	close_nodes(groups, groups->nr_nodes);
	close_stocks(groups);
	close_table(groups);
	free_groups(groups);
	return charged;
}

/* Both, until there is nothing: flushing may uncharge, uncharging may stock. */
int groups_drain(struct quire_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		batch_flush_all(&groups->node[i]);
	stock_forget(groups);
	return 0;
}
