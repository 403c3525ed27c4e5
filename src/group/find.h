/* SPDX-License-Identifier: MIT */
/* From the address of a page to its node and number. */
#ifndef GROUP_FIND_H
#define GROUP_FIND_H

#include "group/group.h"
#include "page/fast.h"

/* NULL: of no zone of these groups. */
static inline struct node *groups_find(struct quire_groups *groups,
				       const void *address, uint32_t *page)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct node *node = &groups->node[i];
		uint64_t number = zone_page(node->zone, address);

		/* Numbers below its start may be those of another zone. */
		if (likely(number - node->start < node->nr_numbers)) {
			*page = (uint32_t)number;
			return node;
		}
	}
	return NULL;
}

#endif /* GROUP_FIND_H */
