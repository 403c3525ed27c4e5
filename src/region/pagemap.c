/* SPDX-License-Identifier: MIT */
/* See pagemap.h for the shape of the map and [M1]. */
#include "region/pagemap.h"

#include <errno.h>

#include "base/assert.h"
#include "os/os.h"

#define ROOT_BYTES (ROOT_ENTRIES * sizeof(struct span **))
#define LEAF_BYTES (LEAF_PAGES * sizeof(struct span *))

int pagemap_open(struct pagemap *map, struct lock *lock)
{
	void *root;
	int error = os->map(ROOT_BYTES, PAGE_SIZE, &root);

	if (error)
		return error;
	map->root = root;
	map->lock = lock;
	return 0;
}

void pagemap_close(struct pagemap *map)
{
	for (size_t i = 0; i < ROOT_ENTRIES; i++)
		if (map->root[i])
			os->unmap(map->root[i], LEAF_BYTES);
	os->unmap(map->root, ROOT_BYTES);
}

static int add_leaf_locked(struct pagemap *map, size_t index)
{
	void *leaf;
	int error;

	if (load_relaxed(&map->root[index]))
		return 0;
	error = os->map(LEAF_BYTES, PAGE_SIZE, &leaf);
	if (error)
		return error;
	/* pairs with the acquire in pagemap_at */
	store_release(&map->root[index], (struct span **)leaf);
	return 0;
}

int pagemap_prepare(struct pagemap *map, size_t page, size_t nr_pages)
{
	size_t first = page >> LEAF_SHIFT;
	size_t last = (page + nr_pages - 1) >> LEAF_SHIFT;
	int error = 0;

	if (last >= ROOT_ENTRIES)
		return -ENOMEM;
	for (size_t i = first; i <= last && !error; i++) {
		if (load_acquire(&map->root[i]))
			continue;
		lock_take(map->lock);
		error = add_leaf_locked(map, i);
		lock_release(map->lock);
	}
	return error;
}

static void set_entry(struct pagemap *map, size_t page, struct span *span)
{
	struct span **leaf = load_relaxed(&map->root[page >> LEAF_SHIFT]);

	/* pairs with the acquire in pagemap_at */
	store_release(&leaf[page & (LEAF_PAGES - 1)], span);
}

static size_t first_group_page(size_t page)
{
	return (page + GROUP_PAGES - 1) & ~(GROUP_PAGES - 1);
}

void pagemap_mark(struct pagemap *map, struct span *span)
{
	size_t end = span_end(span);

	set_entry(map, span->page, span);
	set_entry(map, end - 1, span);
	for (size_t page = first_group_page(span->page); page < end;
	     page += GROUP_PAGES)
		set_entry(map, page, span);
}

/* [M2] */
static void clear_own(struct pagemap *map, size_t page, const struct span *span)
{
	if (pagemap_at(map, page) == span)
		set_entry(map, page, NULL);
}

void pagemap_unmark(struct pagemap *map, const struct span *span)
{
	size_t end = span_end(span);

	clear_own(map, span->page, span);
	clear_own(map, end - 1, span);
	for (size_t page = first_group_page(span->page); page < end;
	     page += GROUP_PAGES)
		clear_own(map, page, span);
}

void pagemap_mark_edge(struct pagemap *map, size_t page, struct span *span)
{
	set_entry(map, page, span);
}

void pagemap_clear_edge(struct pagemap *map, size_t page)
{
	if (page % GROUP_PAGES)
		set_entry(map, page, NULL);
}

struct span *pagemap_covering(const struct pagemap *map, size_t page)
{
	size_t stop = page & ~(GROUP_PAGES - 1);

	for (size_t at = page;; at--) {
		struct span *span = pagemap_at(map, at);

		if (span || at == stop)
			return span;
	}
}

size_t pagemap_next(const struct pagemap *map, size_t page, size_t end)
{
	while (page < end) {
		size_t index = page >> LEAF_SHIFT;

		if (index >= ROOT_ENTRIES)
			return end;
		if (!load_acquire(&map->root[index])) {
			page = (index + 1) << LEAF_SHIFT;
			continue;
		}
		if (pagemap_at(map, page))
			return page;
		page++;
	}
	return end;
}
