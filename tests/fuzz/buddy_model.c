/* SPDX-License-Identifier: MIT */
/* See buddy_model.h. */
#include "buddy_model.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "page/buddy.h"

const struct shape model_shapes[] = {
	{ "a page", 1, 2, { { 0 } } },
	{ "three pages", 0, 3, { { 0 } } },
	{ "seven pages at an odd one", 5, 12, { { 0 } } },
	{ "seven pages around 2 MiB", 509, 516, { { 0 } } },
	{ "below 2 MiB", 1, 511, { { 64, 1 }, { 128, 64 } } },
	{ "some, odd", 3, 1503, { { 5, 1 }, { 700, 100 }, { 1024, 256 } } },
	{ "some, aligned", 0, 4096, { { 0 } } },
	{ "half a hole", 1024, 4096 + 77, { { 1500, 1500 } } },
	{ "holes of 2 MiB",
	  512 * 3 + 77,
	  512 * 19 + 1,
	  { { 512 * 4, 512 }, { 512 * 8, 1024 }, { 512 * 16 + 3, 512 } } },
	{ "around 1 GiB", (1 << 18) - 700, (1 << 18) + 900, { { 0 } } },
	/* not small */
	{ "1 GiB and 5 pages", 0, (1 << 18) + 5, { { 0 } } },
	{ "large, odd",
	  12345,
	  300007,
	  { { 20000, 7 }, { 1 << 17, 1 << 15 }, { 250000, 513 } } },
};
const size_t model_nr_shapes = ARRAY_SIZE(model_shapes);
const size_t model_nr_small_shapes = ARRAY_SIZE(model_shapes) - 2;

#define PAGES_MAX (1u << 19)

/* Of the first page of a block that is out: BLOCK + order. */
enum {
	FREE,
	TAIL,
	RANGE,
	HOLE,
	BLOCK,
};

static struct model {
	struct memmap map;
	struct buddy buddy;
	uint32_t start, end;
	uint8_t kind[PAGES_MAX];
	bool fresh[PAGES_MAX];
	bool isolated[PAGES_MAX >> BLOCK_ORDER];
	size_t nr_free, nr_isolated, nr_fresh; /* of the free */
	uint8_t kind_zero[PAGES_MAX];	       /* FREE, to compare with */
} m;

/* The script */

struct script {
	const uint8_t *at, *end;
};

static unsigned int byte(struct script *script)
{
	return script->at < script->end ? *script->at++ : 0;
}

static uint32_t number(struct script *script, uint32_t below)
{
	uint32_t n = byte(script);

	n |= byte(script) << 8;
	n |= byte(script) << 16;
	return n % below;
}

static uint32_t any_page(struct script *script)
{
	return m.start + number(script, m.end - m.start);
}

static enum migratetype any_type(struct script *script)
{
	return byte(script) & 1 ? TYPE_MOVABLE : TYPE_UNMOVABLE;
}

static unsigned int any_order(struct script *script)
{
	unsigned int n = byte(script);

	return n < 128 ? n % 4 : n % NR_ORDERS;
}

/* The model */

static bool is_isolated(uint32_t page)
{
	return m.isolated[page >> BLOCK_ORDER];
}

static bool is_usable(uint32_t page)
{
	return m.kind[page] == FREE && !is_isolated(page);
}

static void count(uint32_t page, size_t by)
{
	m.nr_free += by;
	m.nr_isolated += is_isolated(page) ? by : 0;
	m.nr_fresh += m.fresh[page] ? by : 0;
}

static void goes_out(uint32_t page, size_t nr, int first, int rest)
{
	for (uint32_t i = 0; i < nr; i++) {
		ASSERT(page + i >= m.start && page + i < m.end);
		ASSERT(is_usable(page + i));
		ASSERT(memmap_fresh(&m.map, page + i, 1) == m.fresh[page + i]);
		count(page + i, -(size_t)1);
		m.kind[page + i] = (uint8_t)(i ? rest : first);
	}
}

static void comes_in(uint32_t page, size_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		m.kind[page + i] = FREE;
		count(page + i, 1);
	}
}

static void set_fresh(uint32_t page, size_t nr, bool fresh)
{
	memmap_set_fresh(&m.map, page, nr, fresh);
	for (uint32_t i = 0; i < nr; i++)
		m.fresh[page + i] = fresh;
}

/* Some are written to, some are not, some were given back to the kernel. */
static void use(struct script *script, uint32_t page, size_t nr)
{
	unsigned int how = byte(script) % 4;

	if (how == 1)
		set_fresh(page, nr, true);
	if (how >= 2)
		set_fresh(page, nr, false);
}

/* Is there a place for @nr pages at a multiple of @align? */
static bool fits(size_t nr, size_t align)
{
	size_t row = 0;

	for (uint32_t page = m.end; page-- > m.start;) {
		row = is_usable(page) ? row + 1 : 0;
		if (row >= nr && !(page & (align - 1)))
			return true;
	}
	return false;
}

static void compare_block(uint32_t page, unsigned int order)
{
	ASSERT(page + (1u << order) <= m.end);
	ASSERT(!memcmp(m.kind + page, m.kind_zero, (size_t)1 << order));
}

static void compare(void)
{
	const uint8_t *state = m.map.state;

	buddy_check_locked(&m.buddy);
	ASSERT(m.buddy.free_pages == m.nr_free);
	ASSERT(m.buddy.isolated_pages == m.nr_isolated);
	ASSERT(m.buddy.fresh_pages == m.nr_fresh);
	for (uint32_t page = m.start; page < m.end; page++) {
		if (STATE_KIND(state[page]) == STATE_BUDDY)
			compare_block(page, STATE_ORDER(state[page]));
		if (page % BLOCK_PAGES == 0 || page == m.start)
			ASSERT(is_isolated(page) ==
			       (memmap_type(&m.map, page) == TYPE_ISOLATE));
	}
}

/* Something that is out, at or after @page; false: all is free. */
static bool find_out(uint32_t *page)
{
	for (uint32_t i = m.start; i < m.end; i++) {
		if (m.kind[*page] >= BLOCK || m.kind[*page] == RANGE)
			return true;
		if (++*page == m.end)
			*page = m.start;
	}
	return false;
}

static size_t pages_out(uint32_t page)
{
	return m.kind[page] == RANGE ? 1 : (size_t)1 << (m.kind[page] - BLOCK);
}

/* Operations */

static void block_out(struct script *script, uint32_t page, unsigned int order,
		      unsigned int kind)
{
	ASSERT(m.map.state[page] == (STATE_LENT | order));
	ASSERT(!(page & ((1u << order) - 1)));
	goes_out(page, (size_t)1 << order, (int)(BLOCK + order), TAIL);
	m.map.state[page] = (uint8_t)(kind | order);
	use(script, page, (size_t)1 << order);
}

static void op_take(struct script *script)
{
	unsigned int order = any_order(script);
	uint32_t page = buddy_take_locked(&m.buddy, order, any_type(script));

	if (page == NO_PAGE)
		ASSERT(!fits((size_t)1 << order, (size_t)1 << order));
	else
		block_out(script, page, order, STATE_HEAD);
}

/* What is free lies in whole clusters: none is left where one was taken. */
static void check_cluster(uint32_t page)
{
	uint32_t first = page & ~(CLUSTER_PAGES - 1);

	for (uint32_t i = first; i < first + CLUSTER_PAGES; i++)
		ASSERT(i < m.start || i >= m.end || m.kind[i] != FREE);
}

static void op_take_pages(struct script *script)
{
	static uint32_t out[1024];
	uint32_t nr = 1 + byte(script);
	uint32_t got =
		buddy_take_pages_locked(&m.buddy, nr, any_type(script), out);

	ASSERT(got < nr + CLUSTER_PAGES);
	for (uint32_t i = 0; i < got; i++) {
		if (i && out[i] / CLUSTER_PAGES == out[i - 1] / CLUSTER_PAGES)
			ASSERT(out[i] > out[i - 1]);
		block_out(script, out[i], 0, STATE_CACHED);
	}
	for (uint32_t i = 0; i < got; i++)
		check_cluster(out[i]);
	if (got < nr)
		ASSERT(!fits(1, 1));
}

static size_t any_length(struct script *script)
{
	unsigned int how = byte(script);
	size_t most = m.end - m.start;

	if (how < 128)
		return 1 + number(script, 100);
	if (how < 240)
		return 1 + number(script, 3000);
	return 1 + number(script, (uint32_t)most + 3);
}

static size_t any_align(struct script *script)
{
	unsigned int how = byte(script);

	return (size_t)1 << (how < 160 ? 0 : how % NR_ORDERS);
}

static void op_take_run(struct script *script)
{
	size_t nr = any_length(script), align = any_align(script);
	uint32_t page =
		buddy_take_run_locked(&m.buddy, nr, align, any_type(script));

	if (page == NO_PAGE) {
		ASSERT(!fits(nr, align));
		return;
	}
	ASSERT(!(page & (align - 1)));
	goes_out(page, nr, RANGE, RANGE);
	for (uint32_t i = 0; i < nr; i++)
		ASSERT(m.map.state[page + i] == STATE_RANGE);
	use(script, page, nr);
}

/* A page or a block, as itself. */
static void op_give(struct script *script)
{
	uint32_t page = any_page(script);
	unsigned int order;

	if (!find_out(&page))
		return;
	order = m.kind[page] == RANGE ? 0 : m.kind[page] - (unsigned int)BLOCK;
	buddy_give_locked(&m.buddy, page, order, byte(script) & 1);
	comes_in(page, (size_t)1 << order);
}

/* A run, of whatever is out in a row there. */
static void op_give_run(struct script *script)
{
	uint32_t page = any_page(script), end;
	size_t most = any_length(script);

	if (!find_out(&page))
		return;
	end = page;
	while (end < m.end && end - page < most &&
	       (m.kind[end] >= BLOCK || m.kind[end] == RANGE))
		end += (uint32_t)pages_out(end);
	buddy_give_run_locked(&m.buddy, page, end - page);
	comes_in(page, end - page);
}

/* Single pages near one another: up, down, and with some left out. */
static uint32_t gather_pages(struct script *script, uint32_t page,
			     uint32_t *pages)
{
	unsigned int how = byte(script), most = 1 + byte(script);
	uint32_t step = how & 1 ? 1 : UINT32_MAX, nr = 0;

	for (; page >= m.start && page < m.end && nr < most; page += step) {
		if (m.kind[page] != RANGE && m.kind[page] != BLOCK)
			continue;
		if (how & 2 && byte(script) < 32)
			continue;
		pages[nr++] = page;
	}
	return nr;
}

static void op_give_pages(struct script *script)
{
	static uint32_t pages[256];
	uint32_t nr, page = any_page(script);

	if (!find_out(&page))
		return;
	nr = gather_pages(script, page, pages);
	buddy_give_pages_locked(&m.buddy, pages, nr);
	for (uint32_t i = 0; i < nr; i++)
		comes_in(pages[i], 1);
}

static void give_all(void)
{
	uint32_t page = m.start;

	while (find_out(&page)) {
		size_t nr = pages_out(page);

		buddy_give_run_locked(&m.buddy, page, nr);
		comes_in(page, nr);
	}
}

/* Lent and given back, as memory on its way to the kernel is. */
static void op_lend(struct script *script)
{
	uint32_t page = any_page(script);
	unsigned int state = m.map.state[page], order = STATE_ORDER(state);

	if (STATE_KIND(state) != STATE_BUDDY || is_isolated(page))
		return;
	buddy_take_at_locked(&m.buddy, page, order);
	block_out(script, page, order, STATE_LENT);
	compare();
	buddy_give_locked(&m.buddy, page, order, true);
	comes_in(page, (size_t)1 << order);
}

static void op_type(struct script *script)
{
	uint32_t page = any_page(script), at, nr = 0;
	enum migratetype type = (enum migratetype)(byte(script) % NR_TYPES);
	uint32_t first = page & ~(BLOCK_PAGES - 1);

	for (at = first; at < first + BLOCK_PAGES; at++) {
		if (at < m.start || at >= m.end || m.kind[at] != FREE)
			continue;
		nr++;
		m.nr_isolated -= is_isolated(at);
		m.nr_isolated += type == TYPE_ISOLATE;
	}
	m.isolated[page >> BLOCK_ORDER] = type == TYPE_ISOLATE;
	ASSERT(buddy_set_type_locked(&m.buddy, page, type) == nr);
	ASSERT(memmap_type(&m.map, page) == type);
}

static void unisolate_all(void)
{
	for (uint32_t page = m.start; page < m.end;
	     page = (page | (BLOCK_PAGES - 1)) + 1)
		if (is_isolated(page))
			buddy_set_type_locked(&m.buddy, page, TYPE_MOVABLE);
	memset(m.isolated, 0, sizeof(m.isolated));
	m.nr_isolated = 0;
}

static void op_reset(struct script *script)
{
	if (byte(script) & 1)
		unisolate_all();
	else
		give_all();
}

static void op_tick(struct script *script)
{
	m.buddy.tick += 1 + byte(script);
}

static void (*const ops[])(struct script *script) = {
	op_take,     op_take, op_take,	   op_take_pages, op_take_run, op_give,
	op_give,     op_give, op_give_run, op_give_pages, op_lend,     op_type,
	op_give_run, op_take, op_tick,	   op_reset,
};

static void (*any_op(struct script *script))(struct script *script)
{
	unsigned int n = byte(script);

	/* seldom: nothing is left of what was there before */
	if (n % 16 == 15 && n < 240)
		n -= 1 + n / 16;
	return ops[n % 16];
}

/* From nothing to everything free */

/* As blocks are marked: see layout.c. */
static void mark_hole(uint32_t page, uint32_t nr)
{
	memset(m.kind + page, HOLE, nr);
	for (uint32_t end = page + nr; page < end;) {
		unsigned int order = 0;

		while (!(page & (1u << order)) && end - page >= 2u << order)
			order++;
		m.map.state[page] = (uint8_t)(STATE_HOLE | order);
		page += 1u << order;
	}
}

static void give_new(uint32_t page, uint32_t end)
{
	buddy_give_new_locked(&m.buddy, page, end - page);
	for (; page < end; page++) {
		m.fresh[page] = m.map.fresh_invert;
		count(page, 1);
	}
}

/* What is not in the shard is another's, and looks as if one could merge. */
static void surround(void)
{
	unsigned int before = (unsigned int)__builtin_ctz(m.start | 1u << 31);
	unsigned int behind = (unsigned int)__builtin_ctz(m.end);

	memset(m.map.state, STATE_BUDDY, m.start);
	memset(m.map.state + m.end, STATE_BUDDY, BLOCK_PAGES);
	if (m.start)
		m.map.state[m.start - (1u << before)] =
			(uint8_t)(STATE_BUDDY | before);
	m.map.state[m.end] = (uint8_t)(STATE_BUDDY | behind);
}

static void begin(const struct shape *shape, bool fresh)
{
	uint32_t at = shape->start;

	ASSERT(shape->end <= PAGES_MAX);
	memset(m.kind, FREE, shape->end);
	m.nr_free = m.nr_isolated = m.nr_fresh = 0;
	m.start = shape->start;
	m.end = shape->end;
	memset(m.isolated, 0, sizeof(m.isolated));
	ASSERT(!memmap_init(&m.map, m.start, m.end + BLOCK_PAGES));
	surround();
	if (fresh)
		memmap_begin_fresh(&m.map);
	buddy_init(&m.buddy, &m.map, m.start, m.end);
	for (unsigned int i = 0; shape->holes[i].nr; i++) {
		give_new(at, shape->holes[i].page);
		mark_hole(shape->holes[i].page, shape->holes[i].nr);
		at = shape->holes[i].page + shape->holes[i].nr;
	}
	give_new(at, m.end);
	compare();
}

/* All of it must come together again. */
static void end(void)
{
	unisolate_all();
	give_all();
	compare();
	memmap_destroy(&m.map);
}

size_t model_run(const struct shape *shape, const uint8_t *bytes, size_t len)
{
	struct script script = { bytes, bytes + len };
	size_t nr = 0;

	begin(shape, byte(&script) & 1);
	for (; script.at < script.end; nr++) {
		any_op (&script)(&script);
		compare();
	}
	end();
	return nr;
}
