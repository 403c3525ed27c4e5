/* SPDX-License-Identifier: MIT */
/* Where a zone's pages are, and which of its options can be right: what zone.c
 * asks of layout.c. */
#ifndef PAGE_LAYOUT_H
#define PAGE_LAYOUT_H

#include "page/zone.h"

/* Shards at most: each slow path adds up numbers of all. */
#define SHARDS_MAX 64u

struct layout {
	enum zone_backing backing;
	char *base;	     /* address of page 0 */
	uint32_t start, end; /* page numbers */
	size_t bytes;	     /* of the zone */
	size_t managed;	     /* pages, without holes */
	unsigned int buddy_shift;
	unsigned int nr_buddies;
};

/* The largest block that begins at @page and ends by @end. */
static inline unsigned int layout_order(uint32_t page, uint32_t end)
{
	unsigned int order = 0;

	while (order < MAX_ORDER && !(page >> order & 1) &&
	       end - page >= 2u << order)
		order++;
	return order;
}

/* Checks all options.  0, -EINVAL or -EOVERFLOW. */
int layout_find(const struct quire_zone_options *options,
		struct layout *layout);
/* How many pages the depot of a zone may hold. */
size_t layout_depot_pages(const struct quire_zone *zone);
/* Marks holes, and gives everything else to the shards. */
void layout_give_all(struct quire_zone *zone,
		     const struct quire_zone_options *options);
/* Pages of holes in a pageblock. */
uint32_t layout_hole_pages(const struct quire_zone *zone, uint32_t block);

#endif /* PAGE_LAYOUT_H */
