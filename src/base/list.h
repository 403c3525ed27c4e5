/* SPDX-License-Identifier: MIT */
/* A circular doubly linked list, linked through its members. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include "base/bits.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_insert_between(struct list *item, struct list *before,
				       struct list *after)
{
	item->prev = before;
	item->next = after;
	before->next = item;
	after->prev = item;
}

static inline void list_add(struct list *head, struct list *item)
{
	list_insert_between(item, head, head->next);
}

static inline void list_add_tail(struct list *head, struct list *item)
{
	list_insert_between(item, head->prev, head);
}

static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->next = item->prev = item;
}

#define list_for_each(pos, head)                                               \
	for (struct list *pos = (head)->next; pos != (head); pos = pos->next)

#endif /* BASE_LIST_H */
