/* SPDX-License-Identifier: MIT */
/*
 * Groups for the user: handles become groups, addresses become pages, arguments
 * are checked; nothing else.
 */
#include <errno.h>

#include <quire/group.h>

#include "base/bits.h"
#include "group/find.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD   __attribute__((cold, noinline))

/* Groups */

static COLD int misused(struct quire_groups *groups, int error)
{
	groups_count(groups, GROUPS_MISUSE);
	return error;
}

static COLD struct group *not_alive(const struct group *group)
{
	if (group)
		misused(group->groups, 0);
	return NULL;
}

/* The group, alive; or NULL. */
static inline struct group *alive(const struct quire_group *handle)
{
	struct group *group = group_of_handle(handle);

	if (likely(group && handle_fits(handle, group) &&
		   !load_relaxed(&group->dead)))
		return group;
	return not_alive(group);
}

static bool zones_fit(const struct quire_groups_options *options)
{
	if (!options->zones || !options->nr_zones ||
	    options->nr_zones > NODES_MAX)
		return false;
	for (size_t i = 0; i < options->nr_zones; i++) {
		if (!options->zones[i])
			return false;
		for (size_t k = 0; k < i; k++)
			if (options->zones[i] == options->zones[k])
				return false;
	}
	return true;
}

EXPORT int quire_groups_open(const struct quire_groups_options *options,
			     struct quire_groups **out)
{
	if (!options || !out || options->size != sizeof(*options) ||
	    !zones_fit(options))
		return -EINVAL;
	if (options->lru_lock > QUIRE_LRU_LOCK_NODE ||
	    options->pcp > QUIRE_PCP_OFF ||
	    options->flags & ~(QUIRE_GROUPS_STRICT | QUIRE_GROUPS_NO_THREAD) ||
	    options->max_groups > GROUPS_MAX)
		return -EINVAL;
	return groups_open(options, out);
}

EXPORT long quire_groups_close(struct quire_groups *groups)
{
	return groups ? groups_close(groups) : -EINVAL;
}

EXPORT struct quire_group *quire_groups_root(struct quire_groups *groups)
{
	return group_handle(group_of_id(groups, GROUP_ROOT));
}

EXPORT int quire_group_create(struct quire_group *parent,
			      struct quire_group **out)
{
	struct group *group = alive(parent), *made;
	int error;

	if (!out)
		return -EINVAL;
	if (!group)
		return -ESTALE;
	error = group_create(group, &made);
	if (!error)
		*out = group_handle(made);
	return error;
}

EXPORT int quire_group_delete(struct quire_group *handle)
{
	struct group *group = alive(handle);

	return group ? group_delete(group) : -ESTALE;
}

EXPORT int quire_group_set_limit(struct quire_group *handle,
				 enum quire_group_limit which, uint64_t pages)
{
	struct group *group = alive(handle);

	if ((unsigned int)which >= QUIRE_GROUP_NR_LIMITS)
		return -EINVAL;
	if (!group)
		return -ESTALE;
	return group->parent ? group_set_limit(group, which, pages) : -EINVAL;
}

EXPORT int quire_group_limit(struct quire_group *handle,
			     enum quire_group_limit which, uint64_t *pages)
{
	struct group *group = alive(handle);

	if ((unsigned int)which >= QUIRE_GROUP_NR_LIMITS || !pages)
		return -EINVAL;
	if (!group)
		return -ESTALE;
	*pages = group_limit(group, which);
	return 0;
}

/* Charging */

/* More than any machine has would overflow the counts. */
static bool is_too_many(uint64_t nr)
{
	return nr >= GROUP_HOLD / 2;
}

static COLD int charge_slow(struct quire_group *handle, size_t nr_pages)
{
	struct group *group = alive(handle);

	if (!group)
		return -ESTALE;
	if (!nr_pages || is_too_many(nr_pages))
		return nr_pages ? -EINVAL : 0;
	return group_charge_slow(group, nr_pages, 0);
}

/* There is no stock of a group that was deleted, and none for 0 pages. */
EXPORT int quire_group_charge(struct quire_group *handle, size_t nr_pages)
{
	struct group *group = group_of_handle(handle);

	if (likely(group && handle_fits(handle, group) && nr_pages &&
		   charge_fast(group, nr_pages)))
		return 0;
	return charge_slow(handle, nr_pages);
}

static COLD int uncharge_slow(struct quire_group *handle, size_t nr_pages)
{
	struct group *group = group_of_handle(handle);

	if (!group)
		return -ESTALE;
	if (!handle_fits(handle, group))
		return misused(group->groups, -ESTALE);
	if (nr_pages)
		group_uncharge_slow(group, nr_pages);
	return 0;
}

EXPORT int quire_group_uncharge(struct quire_group *handle, size_t nr_pages)
{
	struct group *group = group_of_handle(handle);

	if (likely(group && handle_fits(handle, group) &&
		   uncharge_fast(group, nr_pages)))
		return 0;
	return uncharge_slow(handle, nr_pages);
}

EXPORT int quire_group_reserve(struct quire_group *handle, size_t nr_pages,
			       uint64_t timeout_ms, size_t *shortfall)
{
	struct group *group = alive(handle);

	if (!group)
		return -ESTALE;
	if (!nr_pages || is_too_many(nr_pages))
		return nr_pages ? -EINVAL : 0;
	return group_reserve(group, nr_pages, timeout_ms, shortfall);
}

/* Owners */

EXPORT int quire_owner_add(struct quire_groups *groups,
			   const struct quire_owner *owner, uint32_t *id)
{
	if (!groups || !owner || owner->size != sizeof(*owner) || !id ||
	    !owner->drop)
		return -EINVAL;
	return owner_add(groups, owner, id);
}

EXPORT int quire_owner_remove(struct quire_groups *groups, uint32_t id)
{
	if (!groups || !id || id >= OWNERS_MAX)
		return -EINVAL;
	return owner_remove(groups, id);
}

/* Pages */

static bool request_fits(const struct quire_groups *groups,
			 const struct quire_page_request *request)
{
	return request && request->size == sizeof(*request) &&
	       request->order <= QUIRE_GROUP_MAX_ORDER &&
	       request->kind <= QUIRE_PAGE_ANON &&
	       request->owner < OWNERS_MAX &&
	       request->zone < groups->nr_nodes &&
	       !(request->flags &
		 ~(QUIRE_MOVABLE | QUIRE_ZERO | QUIRE_GROUP_RESERVED |
		   QUIRE_GROUP_NO_RECLAIM)) &&
	       owner_is_known(groups, request->owner);
}

EXPORT void *quire_group_page_alloc(struct quire_group *handle,
				    const struct quire_page_request *request)
{
	struct group *group = alive(handle);

	if (unlikely(!group)) {
		errno = ESTALE;
		return NULL;
	}
	if (unlikely(!request_fits(group->groups, request))) {
		errno = EINVAL;
		return NULL;
	}
	return group_page_alloc(group, request);
}

struct place {
	struct node *node;
	struct group_page *gp;
	uint32_t page;
};

/* False: no page that is charged. */
static bool find(struct quire_groups *groups, const void *address,
		 struct place *out)
{
	out->node = groups_find(groups, address, &out->page);
	if (unlikely(!out->node))
		return false;
	out->gp = &out->node->page[out->page];
	return likely(page_flags(out->gp) & GP_CHARGED);
}

#define FIND_OR_FAIL(groups, address, place)                                   \
	do {                                                                   \
		if (unlikely(!find((groups), (address), (place))))             \
			return misused((groups), -EFAULT);                     \
	} while (0)

EXPORT int quire_group_page_add(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	return group_page_add(place.node, place.page);
}

static int get(struct quire_groups *groups, void *address, uint64_t what)
{
	struct place place;

	/* One that is about to be dropped is no misuse. */
	if (unlikely(!find(groups, address, &place)))
		return -EFAULT;
	return likely(page_get(place.gp, what)) ? 0 : -EFAULT;
}

EXPORT int quire_group_page_get(struct quire_groups *groups, void *address)
{
	return get(groups, address, PAGE_REF);
}

EXPORT int quire_group_page_pin(struct quire_groups *groups, void *address)
{
	return get(groups, address, PAGE_PIN | PAGE_REF);
}

EXPORT int quire_group_page_put(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	pages_put(place.node, &place.page, 1);
	return 0;
}

EXPORT int quire_group_page_unpin(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	if (unlikely(!PINS_OF(load_relaxed(&place.gp->refs))))
		return misused(groups, -EINVAL);
	if (unlikely(page_put(place.gp, PAGE_PIN | PAGE_REF)))
		pages_free(place.node, &place.page, 1);
	groups_event(groups);
	return 0;
}

EXPORT int quire_group_page_put_many(struct quire_groups *groups, size_t nr,
				     void **pages)
{
	uint32_t chunk[CHUNK_PAGES], in_chunk = 0;
	struct node *node = NULL;
	struct place place;
	int error = 0;

	if (!pages && nr)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		if (!pages[i])
			continue;
		if (!find(groups, pages[i], &place)) {
			error = error ? error : misused(groups, -EFAULT);
			continue;
		}
		if (in_chunk == CHUNK_PAGES || place.node != node) {
			pages_put(node, chunk, in_chunk);
			in_chunk = 0;
		}
		node = place.node;
		chunk[in_chunk++] = place.page;
	}
	if (in_chunk)
		pages_put(node, chunk, in_chunk);
	return error;
}

EXPORT int quire_group_page_touch(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	group_page_touch(place.node, place.page);
	return 0;
}

EXPORT int quire_group_page_deactivate(struct quire_groups *groups,
				       void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	return group_page_deactivate(place.node, place.page);
}

EXPORT int quire_group_page_rotate(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	return group_page_rotate(place.node, place.page);
}

EXPORT int quire_group_page_set_evictable(struct quire_groups *groups,
					  void *address, int evictable)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	return group_page_set_evictable(place.node, place.page, evictable);
}

EXPORT int quire_group_page_isolate(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	return page_isolate(place.node, place.page);
}

EXPORT int quire_group_page_put_back(struct quire_groups *groups, void *address)
{
	struct place place;

	FIND_OR_FAIL(groups, address, &place);
	if (!(page_flags(place.gp) & GP_ISOLATED))
		return misused(groups, -EINVAL);
	pages_put_back(place.node, &place.page, 1, false);
	groups_event(groups);
	return 0;
}

EXPORT int quire_group_page_move(struct quire_groups *groups, void *address,
				 struct quire_group *handle)
{
	struct group *to = alive(handle);
	struct place place;

	if (!to)
		return -ESTALE;
	if (to->groups != groups)
		return -EINVAL;
	FIND_OR_FAIL(groups, address, &place);
	return page_move(place.node, place.page, to);
}

/* Reclaim, and how it stands */

EXPORT long quire_group_reclaim(struct quire_group *handle, size_t nr_pages)
{
	struct group *group = alive(handle);

	return group ? (long)groups_reclaim(group, NULL, nr_pages) : -ESTALE;
}

EXPORT int quire_groups_drain(struct quire_groups *groups)
{
	return groups ? groups_drain(groups) : -EINVAL;
}

EXPORT int quire_group_describe(struct quire_group *handle,
				struct quire_group_facts *out)
{
	struct group *group = alive(handle);

	if (!out || out->size != sizeof(*out))
		return -EINVAL;
	return group ? group_describe(group, out) : -ESTALE;
}

EXPORT int quire_group_print(struct quire_group *handle,
			     enum quire_group_text what, char *buf, size_t len)
{
	struct group *group = alive(handle);

	if ((unsigned int)what > QUIRE_GROUP_EVENTS || (!buf && len))
		return -EINVAL;
	return group ? group_print(group, what, buf, len) : -ESTALE;
}

EXPORT int quire_groups_describe(struct quire_groups *groups,
				 struct quire_groups_facts *out)
{
	if (!groups || !out || out->size != sizeof(*out))
		return -EINVAL;
	return groups_describe(groups, out);
}

EXPORT void quire_groups_counters(struct quire_groups *groups,
				  uint64_t counter[QUIRE_NR_COUNTERS])
{
	groups_counters(groups, counter);
}

EXPORT void quire_groups_check(struct quire_groups *groups)
{
	groups_check(groups);
}
