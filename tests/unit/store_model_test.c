/* SPDX-License-Identifier: MIT */
/*
 * Random operations on a store against a model of it: which block owns which
 * page, and what each page holds.
 *
 * Each page of a live block carries the block's mark in its first and its last
 * byte.  After every step both walkers run, and the operation's own result is
 * checked; the marks are checked before a block is freed or resized, and all of
 * them now and then.  A failure prints the seed:
 *
 *	QUIRE_TEST_SEED=n     this seed only
 *	QUIRE_TEST_SEEDS=n    seeds 1 to n
 *	QUIRE_TEST_STEPS=n    steps of each
 */
#include "region.h"

#include <pthread.h>

#include "base/bits.h"
#include "os/sim.h"

#define MAX_BLOCKS 48
#define MAX_LIVE   (512 * MIB)

enum page_kind {
	PAGE_OURS,
	PAGE_REPLACED, /* the program has mapped something else there */
	PAGE_GONE,     /* the program has unmapped it */
};

struct block {
	char *at;
	size_t bytes;
	uint8_t id;
	bool tainted;
	bool has_gone;
	bool has_replaced;
	uint8_t *kind; /* of each page; NULL: all ours */
};

static struct store store;
static struct block blocks[MAX_BLOCKS];
static int nr_blocks;
static size_t live_bytes, peak_bytes;
static uint64_t seed;
static uint8_t next_id;

static size_t below(size_t n)
{
	return random_below(&seed, n);
}

static size_t pages_of(const struct block *block)
{
	return (block->bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

static enum page_kind kind_of(const struct block *block, size_t page)
{
	return block->kind ? block->kind[page] : PAGE_OURS;
}

static uint8_t mark_of(const struct block *block, size_t page)
{
	return (uint8_t)(block->id * 31 + page * 7 + (page >> 8)) | 1;
}

static size_t last_of(const struct block *block, size_t page)
{
	return min_size((page + 1) << PAGE_SHIFT, block->bytes) - 1;
}

static void fill_from(const struct block *block, size_t page)
{
	for (; page < pages_of(block); page++) {
		if (kind_of(block, page) != PAGE_OURS)
			continue;
		block->at[page << PAGE_SHIFT] = (char)mark_of(block, page);
		block->at[last_of(block, page)] = (char)mark_of(block, page);
	}
}

static void verify_up_to(const struct block *block, size_t nr_pages)
{
	for (size_t page = 0; page < nr_pages; page++) {
		if (kind_of(block, page) != PAGE_OURS)
			continue;
		ASSERT((uint8_t)block->at[page << PAGE_SHIFT] ==
		       mark_of(block, page));
		if (last_of(block, page) == ((page + 1) << PAGE_SHIFT) - 1)
			ASSERT((uint8_t)block->at[last_of(block, page)] ==
			       mark_of(block, page));
	}
}

static void verify(const struct block *block)
{
	verify_up_to(block, pages_of(block));
	ASSERT(store_usable(&store, block->at) >= block->bytes);
}

static bool owns(const struct block *block, const char *address)
{
	size_t offset = (size_t)(address - block->at);

	return address >= block->at && offset < pages_of(block) << PAGE_SHIFT &&
	       kind_of(block, offset >> PAGE_SHIFT) != PAGE_GONE;
}

static void expect_no_overlap(const struct block *a)
{
	for (int i = 0; i < nr_blocks; i++) {
		const struct block *b = &blocks[i];

		if (a == b || a->at + a->bytes <= b->at ||
		    b->at + b->bytes <= a->at)
			continue;
		ASSERT(b->has_gone || a->has_gone);
		for (size_t page = 0; page < pages_of(a); page++)
			ASSERT(kind_of(a, page) == PAGE_GONE ||
			       !owns(b, a->at + (page << PAGE_SHIFT)));
	}
}

/* Now and then another thread, so that there are other shards. */

struct request {
	size_t bytes, align;
	bool zero;
	void *block;
	int result;
};

static void *do_alloc(void *arg)
{
	struct request *r = arg;

	r->block = store_alloc(&store, r->bytes, r->align, r->zero);
	return NULL;
}

static void *do_free(void *arg)
{
	struct request *r = arg;

	r->result = store_free(&store, r->block);
	return NULL;
}

static void somewhere(void *(*body)(void *), struct request *request)
{
	pthread_t thread;

	if (below(8)) {
		body(request);
		return;
	}
	ASSERT(!pthread_create(&thread, NULL, body, request));
	pthread_join(thread, NULL);
}

/* Many small, few large: the logarithm is even. */
static size_t random_size(void)
{
	size_t bits = 10 + below(15); /* up to 32 MiB */

	if (below(4) == 0) /* the same ones again and again */
		return (size_t)1 << bits;
	return ((size_t)1 << bits) + below((size_t)1 << bits);
}

static void expect_zero(const char *at, size_t bytes)
{
	ASSERT(!at[0] && !memcmp(at, at + 1, bytes - 1));
}

static void step_alloc(void)
{
	struct request r = {
		.bytes = random_size(),
		.align = below(5) ? PAGE_SIZE : PAGE_SIZE << below(12),
		.zero = below(3) == 0,
	};
	struct block *block = &blocks[nr_blocks];

	if (nr_blocks == MAX_BLOCKS || live_bytes + r.bytes > MAX_LIVE)
		return;
	somewhere(do_alloc, &r);
	ASSERT(r.block);
	ASSERT((uintptr_t)r.block % r.align == 0);
	*block = (struct block){ .at = r.block,
				 .bytes = r.bytes,
				 .id = next_id++ };
	nr_blocks++;
	live_bytes += r.bytes;
	expect_no_overlap(block);
	if (r.zero)
		expect_zero(block->at, block->bytes);
	fill_from(block, 0);
}

static void forget(struct block *block)
{
	live_bytes -= block->bytes;
	free(block->kind);
	*block = blocks[--nr_blocks];
}

/* What the program mapped is still there, and is the program's to unmap. */
static void unmap_replaced(const struct block *block)
{
	for (size_t page = 0; page < pages_of(block); page++)
		if (kind_of(block, page) == PAGE_REPLACED) {
			char *at = block->at + (page << PAGE_SHIFT);

			ASSERT(*(volatile char *)at == 0);
			ASSERT(!munmap(at, PAGE_SIZE));
		}
}

static void free_block(struct block *block)
{
	struct request r = { .block = block->at };

	verify(block);
	somewhere(do_free, &r);
	ASSERT(r.result == 0);
	if (block->has_replaced)
		unmap_replaced(block);
	if (!block->has_gone) /* there, another block of ours may be now */
		ASSERT(store_free(&store, block->at) == -ENOENT ||
		       store_free(&store, block->at) == -EALREADY);
	forget(block);
}

static void step_free(void)
{
	if (nr_blocks)
		free_block(&blocks[below((size_t)nr_blocks)]);
}

static void step_resize(void)
{
	struct block *block = &blocks[nr_blocks ? below((size_t)nr_blocks) : 0];
	size_t bytes = below(2) ? random_size()
				: block->bytes + below(block->bytes + 1) / 2;
	size_t common = min_size(bytes, block->bytes) >> PAGE_SHIFT;
	char *at;

	if (!nr_blocks || block->kind ||
	    live_bytes - block->bytes + bytes > MAX_LIVE)
		return;
	verify(block);
	at = store_resize(&store, block->at, bytes);
	ASSERT(at);
	block->at = at;
	live_bytes += bytes - block->bytes;
	block->bytes = bytes;
	verify_up_to(block, common);
	expect_no_overlap(block);
	fill_from(block, common);
	verify(block);
	/* both may have been there at once, and a moved one has an eighth */
	peak_bytes = max_size(peak_bytes, live_bytes * 9 / 8 + bytes * 9 / 8);
}

static void step_taint(void)
{
	struct block *block = &blocks[nr_blocks ? below((size_t)nr_blocks) : 0];
	size_t from, nr;

	if (!nr_blocks || block->kind)
		return;
	from = below(pages_of(block));
	nr = 1 + below(pages_of(block) - from);
	store_note(&store, block->at + (from << PAGE_SHIFT), nr << PAGE_SHIFT,
		   NOTE_TAINT);
	ASSERT(!madvise(block->at + (from << PAGE_SHIFT), nr << PAGE_SHIFT,
			MADV_DONTDUMP));
	block->tainted = true;
}

static void make_hole(struct block *block, size_t from, size_t nr, bool gone)
{
	char *at = block->at + (from << PAGE_SHIFT);

	store_note(&store, at, nr << PAGE_SHIFT, NOTE_HOLE);
	if (gone)
		ASSERT(!munmap(at, nr << PAGE_SHIFT));
	else
		ASSERT(mmap(at, nr << PAGE_SHIFT, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) == at);
	if (!block->kind)
		block->kind = calloc(pages_of(block), 1);
	ASSERT(block->kind);
	memset(block->kind + from, gone ? PAGE_GONE : PAGE_REPLACED, nr);
	block->has_gone |= gone;
	block->has_replaced |= !gone;
}

/* Any part may be replaced, more than once; one part but the head unmapped. */
static void step_hole(void)
{
	struct block *block = &blocks[nr_blocks ? below((size_t)nr_blocks) : 0];
	bool gone = below(2);
	size_t from, nr;

	if (!nr_blocks || block->has_gone || pages_of(block) < 4)
		return;
	from = gone + below(pages_of(block) - 1 - gone);
	nr = 1 + below(pages_of(block) - from);
	make_hole(block, from, nr, gone);
}

static void step_misuse(void)
{
	const struct block *block =
		&blocks[nr_blocks ? below((size_t)nr_blocks) : 0];
	size_t offset;

	if (!nr_blocks || block->kind)
		return;
	offset = below(block->bytes);
	if (offset)
		ASSERT(store_free(&store, block->at + offset) == -EINVAL);
	ASSERT(store_free(&store, &offset) == -ENOENT);
}

static void step_clock(void)
{
	sim_advance_ms(below(400));
}

static void step_trim(void)
{
	if (below(10) == 0)
		store_trim(&store);
}

static void step_verify_all(void)
{
	for (int i = 0; i < nr_blocks; i++)
		verify(&blocks[i]);
	if (nr_blocks && below(5) == 0) {
		const struct block *block = &blocks[below((size_t)nr_blocks)];

		if (!block->tainted && !block->kind)
			ASSERT(!has_vm_flag(block->at, " dd"));
	}
}

static void (*const steps[])(void) = {
	step_alloc, step_alloc,	 step_alloc,  step_alloc,  step_alloc,
	step_alloc, step_free,	 step_free,   step_free,   step_free,
	step_free,  step_resize, step_resize, step_resize, step_taint,
	step_hole,  step_misuse, step_clock,  step_clock,  step_trim,
};

/* [S1]; what is live is more than was asked for, by up to a quarter and more */
static void check_room(void)
{
	uint64_t live = COUNT(&store, bytes_live);
	uint64_t kept = COUNT(&store, bytes_kept);

	peak_bytes = max_size(peak_bytes, live);
	ASSERT(live >= live_bytes);
	ASSERT(live + kept <= peak_bytes + peak_bytes / 16 + 4 * MIB);
}

static void open_for(uint64_t number)
{
	static const enum thp_policy thp[] = { THP_NEVER, THP_AUTO,
					       THP_ALWAYS };
	struct store_options options = quiet_options();

	options.thp = thp[number % 3];
	options.nr_shards = 1 + number % 4;
	options.decay_ms = number % 5 ? 3000 : 0;
	options.zero_max_bytes = MIB << number % 5;
	options.keep_bytes = number % 7 ? 128 * MIB : 16 * MIB;
	ASSERT(!store_open(&store, &options));
	seed = number * 0x9e3779b97f4a7c15ull;
	next_id = 0;
	nr_blocks = 0;
	live_bytes = peak_bytes = 0;
}

static void run(uint64_t number, unsigned long nr_steps)
{
	size_t before = anonymous_bytes();

	open_for(number);
	for (unsigned long i = 0; i < nr_steps; i++) {
		steps[below(sizeof(steps) / sizeof(steps[0]))]();
		check_all(&store, (uint64_t)nr_blocks);
		check_room();
		if (i % 50 == 0)
			step_verify_all();
	}
	step_verify_all();
	while (nr_blocks > MAX_BLOCKS / 4) {
		free_block(&blocks[0]);
		check_all(&store, (uint64_t)nr_blocks);
	}
	while (nr_blocks && (blocks[0].has_replaced || blocks[0].has_gone))
		free_block(&blocks[0]);
	for (int i = 0; i < nr_blocks; i++)
		if (blocks[i].kind)
			free_block(&blocks[i--]);
	store_close(&store); /* the others go with it */
	while (nr_blocks)
		forget(&blocks[0]);
	if (!UNDER_SANITIZER)
		ASSERT(anonymous_bytes() == before);
}

static uint64_t running;
static panic_fn panic_of_os;

static void say_seed(const char *what, const char *file, int line)
{
	fprintf(stderr, "QUIRE_TEST_SEED=%llu fails\n",
		(unsigned long long)running);
	panic_of_os(what, file, line);
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t thread;
	unsigned long only = number_from("QUIRE_TEST_SEED", 0);
	unsigned long seeds = number_from("QUIRE_TEST_SEEDS", 5);
	unsigned long nr_steps =
		number_from("QUIRE_TEST_STEPS", UNDER_TSAN ? 60 : 500);

	/* what the C library keeps: buffers, and the stack of a thread */
	anonymous_bytes();
	ASSERT(!pthread_create(&thread, NULL, nothing, NULL));
	pthread_join(thread, NULL);
	panic_of_os = panic_hook;
	panic_hook = say_seed;
	sim_start();
	for (running = only ? only : 1; running <= (only ? only : seeds);
	     running++)
		run(running, nr_steps);
	sim_stop();
	return 0;
}
