/* SPDX-License-Identifier: MIT */
/* See array.h. */
#include "percpu/array.h"

uint32_t array_take_newest(struct slot *slot, uint32_t *out, uint32_t nr)
{
	uint32_t head = slot->ends.head;

	nr = (uint32_t)min_size(nr, slot_count(slot));
	for (uint32_t i = 0; i < nr; i++)
		out[i] = slot->page[--head];
	store_release(&slot->ends.head, head);
	return nr;
}

uint32_t array_take_oldest(struct slot *slot, uint32_t *out, uint32_t nr)
{
	uint32_t limit = load_relaxed(&slot->limit);
	uint32_t tail = SLOT_TAIL(load_relaxed(&slot->ends.window));

	nr = copy_oldest(slot, tail, out, nr);
	tail += nr;
	store_release(&slot->ends.window,
		      SLOT_WINDOW(tail, top_of(slot, tail, limit)));
	return nr;
}

/* [C7] */
static void move_down(struct slot *slot)
{
	uint32_t limit = load_relaxed(&slot->limit);
	uint32_t tail = SLOT_TAIL(load_relaxed(&slot->ends.window));
	uint32_t count = slot->ends.head - tail;
	union slot_ends ends;

	if (count >= limit || count > tail)
		return;
	for (uint32_t i = 0; i < count; i++)
		store_relaxed(&slot->page[i], slot->page[tail + i]);
	ends.window = SLOT_WINDOW(0, limit);
	ends.head = count;
	store_release(&slot->ends.word, ends.word);
}

static uint32_t put_below_top(struct slot *slot, const uint32_t *in,
			      uint32_t nr)
{
	uint32_t head = slot->ends.head;
	uint32_t top = SLOT_TOP(load_relaxed(&slot->ends.window));

	if (head >= top)
		return 0;
	nr = (uint32_t)min_size(nr, top - head);
	for (uint32_t i = 0; i < nr; i++)
		store_relaxed(&slot->page[head++], in[i]); /* slot_oldest */
	store_release(&slot->ends.head, head);
	return nr;
}

uint32_t array_put(struct slot *slot, const uint32_t *in, uint32_t nr)
{
	uint32_t done = put_below_top(slot, in, nr);

	if (done == nr)
		return nr;
	move_down(slot);
	return done + put_below_top(slot, in + done, nr - done);
}
