/* SPDX-License-Identifier: MIT */
/*
 * Traces of dropped pages, to know the ones that were dropped too early.
 *
 *	trace	tag of owner and key │ group │ was in use │ age when dropped
 *		23 bits		       16      1	    24
 *
 * A group's age is the number of pages that have left its inactive lists, to the
 * active ones or dropped.  The difference of two ages says how many more
 * inactive pages the group would have needed for the page to be there still.
 * Where that is no more than it has in active pages (and of the other kind),
 * the page would have been hit, had it been one of those: it begins as active,
 * and the inactive list is told that it costs.  A scan never comes back, so it
 * leaves traces and nothing else.
 *
 * The table is bounded and forgets: four traces a set; where all are taken, one
 * that the hash chooses is overwritten.  Words are read and written whole, so a trace that is
 * overwritten meanwhile is at worst a page on the wrong list.
 */
#include "base/bits.h"
#include "group/group.h"

#define WAYS	  4u
#define AGE_BITS  24u
#define AGE_MASK  ((1ull << AGE_BITS) - 1)
#define IN_USE	  (1ull << AGE_BITS)
#define GROUP_AT  (AGE_BITS + 1)
#define TAG_AT	  (GROUP_AT + 16)
#define TAG_OF(w) ((w) >> TAG_AT)

/* Different keys, different words, as far as 64 bits go. */
static uint64_t mix(uint64_t key, unsigned int owner)
{
	uint64_t h = key + (uint64_t)owner * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

static uint64_t *set_of(const struct quire_groups *groups, uint64_t hash)
{
	return &groups->traces[(hash & groups->trace_mask) * WAYS];
}

/* Never 0, so that an empty word has no tag. */
static uint64_t tag_of(uint64_t hash)
{
	return hash >> TAG_AT | 1;
}

int trace_init(struct quire_groups *groups, size_t nr)
{
	size_t sets = 1;
	void *memory;
	int error;

	if (!nr)
		return 0;
	while (sets * WAYS < nr)
		sets *= 2;
	groups->trace_bytes = sets * WAYS * sizeof(uint64_t);
	error = os->map_backed(groups->trace_bytes, PAGE_SIZE, OS_LAZY,
			       &memory);
	if (error)
		return error;
	groups->traces = memory;
	groups->trace_mask = sets - 1;
	while (sets * WAYS >> groups->trace_shift > AGE_MASK / 4)
		groups->trace_shift++;
	return 0;
}

static uint64_t age_now(const struct group *group)
{
	return load_relaxed(&group->age) >> group->groups->trace_shift &
	       AGE_MASK;
}

void trace_fetch(struct node *node, const struct group_page *gp)
{
	if (node->groups->traces)
		__builtin_prefetch(
			set_of(node->groups,
			       mix(gp->key, page_owner(page_flags(gp)))),
			1);
}

/* Which of the set goes: one after the other, as far as hashes tell. */
static unsigned int way_of(const uint64_t *set, uint64_t hash)
{
	for (unsigned int i = 0; i < WAYS; i++)
		if (!load_relaxed(&set[i]))
			return i;
	return (unsigned int)(hash >> (TAG_AT - 2)) % WAYS;
}

void trace_leave(struct node *node, struct group_page *gp)
{
	struct quire_groups *groups = node->groups;
	struct group *group = group_of_id(groups, load_relaxed(&gp->group));
	uint32_t flags = page_flags(gp);
	uint64_t hash, *set, word;

	if (!groups->traces)
		return;
	hash = mix(gp->key, page_owner(flags));
	set = set_of(groups, hash);
	word = tag_of(hash) << TAG_AT | (uint64_t)group->id << GROUP_AT |
	       (flags & GP_WORKINGSET ? IN_USE : 0) | age_now(group);
	store_relaxed(&set[way_of(set, hash)], word);
}

/* Pages that the group would have to do without for this one to have stayed. */
static uint64_t in_use(const struct group *group, unsigned int kind)
{
	const struct quire_groups *groups = group->groups;
	unsigned int own = 2 * kind, other = 2 - own;
	uint64_t nr = 0;

	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		nr += lruvec_size(&group->vec[i], own + LRU_ACTIVE) +
		      lruvec_size(&group->vec[i], other) +
		      lruvec_size(&group->vec[i], other + LRU_ACTIVE);
	return nr;
}

static uint32_t came_back(struct node *node, struct group *group, uint64_t word,
			  unsigned int kind)
{
	struct group *of = group_of_id(node->groups,
				       (uint32_t)(word >> GROUP_AT & 0xffff));
	uint64_t distance = (age_now(of) - (word & AGE_MASK)) & AGE_MASK;

	group_count(group, GROUP_REFAULT + kind, 1);
	if (distance << node->groups->trace_shift > in_use(of, kind))
		return 0;
	group_count(group, GROUP_REFAULT_ACTIVE + kind, 1);
	add_relaxed(&group->age, 1);
	if (!(word & IN_USE))
		return GP_WANT_ACTIVE;
	cost_note(&group->vec[node->index], kind, 1);
	return GP_WANT_ACTIVE | GP_WORKINGSET;
}

uint32_t trace_find(struct node *node, struct group *group, unsigned int owner,
		    uint64_t key, uint32_t flags)
{
	struct quire_groups *groups = node->groups;
	uint64_t hash, *set, word;

	if (!groups->traces)
		return 0;
	hash = mix(key, owner);
	set = set_of(groups, hash);
	for (unsigned int i = 0; i < WAYS; i++) {
		word = load_relaxed(&set[i]);
		if (TAG_OF(word) != tag_of(hash))
			continue;
		store_relaxed(&set[i], 0); /* told once */
		return came_back(node, group, word, page_kind(flags));
	}
	return 0;
}
