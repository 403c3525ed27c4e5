/* SPDX-License-Identifier: MIT */
/*
 * The tables of the recorder.
 *
 *	key[]    open addressing: address of a live big block, NONE or GONE
 *	block[]  what is known of the block in the same slot
 *	kept[]   per class, the blocks freed lately, newest last
 *
 * [T1] The slot of a block does not move while the block lives, and a slot
 *      goes from GONE back to NONE only when the next slot is NONE, so whoever
 *      is about to free a block finds it without a lock: nobody else may free
 *      it at the same time.  This is what keeps the free of small blocks
 *      cheap: they look at one word, which is NONE.
 * [T2] everything else happens under the lock.  Nobody calls out of this file
 *      while holding it, except the report at the end of the process.
 * [T3] a forked child keeps the table of live blocks, because it may free
 *      them, but counts only blocks of its own epoch.
 *
 * "Could have been served again" follows what the span store of quire does: a
 * kept block of 1 to 1.25 times the size, not older than the decay time.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "record_tally.h"

#define SLOTS	   (1u << 17)
#define SLOTS_USED (SLOTS / 8 * 7)
#define NONE	   ((uintptr_t)0)
#define GONE	   ((uintptr_t)1)
#define KEPT	   1024
#define KEPT_LOOK  128
#define CELLS	   64
#define PAGE	   ((uintptr_t)4096)

struct kept_block {
	uint64_t size;
	uint64_t when_ns;
};

struct kept {
	uint32_t nr;
	struct kept_block block[KEPT];
};

struct cell {
	uint64_t blocks, bytes; /* atomic, relaxed: statistics */
} __attribute__((aligned(64)));

/* the lock */
struct tally tally __attribute__((aligned(4096)));
static struct kept kept[TALLY_CLASSES] __attribute__((aligned(4096)));
static struct tally_block blocks[SLOTS];
static uint32_t slots_used; /* not NONE */
static uint32_t epoch;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* written under the lock, read by tally_take without [T1] */
static uintptr_t keys[SLOTS];

/* const after start */
static uint64_t decay_ns;

static struct cell cells[CELLS];
static uint32_t cells_given;
static __thread uint32_t my_cell; /* 0: none yet, else index + 1 */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned int log2_of(uint64_t n)
{
	return 63 - (unsigned int)__builtin_clzll(n | 1);
}

/* Three bits below the highest one. */
static unsigned int class_of(uint64_t size)
{
	unsigned int high = log2_of(size | 8);

	return high * 8 + ((size >> (high - 3)) & 7);
}

static uint32_t slot_of(uintptr_t ptr)
{
	return (uint32_t)((ptr >> 4) * 0x9e3779b97f4a7c15u >> 47) % SLOTS;
}

void tally_start(uint64_t decay_ms)
{
	decay_ns = decay_ms > UINT64_MAX / 1000000 ? UINT64_MAX
						   : decay_ms * 1000000;
}

void tally_small(size_t size)
{
	struct cell *cell;

	if (unlikely(!my_cell))
		my_cell = add_relaxed(&cells_given, 1) % CELLS + 1;
	cell = &cells[my_cell - 1];
	add_relaxed(&cell->blocks, 1);
	add_relaxed(&cell->bytes, size);
}

void tally_small_sum(uint64_t *nr, uint64_t *bytes)
{
	*nr = *bytes = 0;
	for (int i = 0; i < CELLS; i++) {
		*nr += load_relaxed(&cells[i].blocks);
		*bytes += load_relaxed(&cells[i].bytes);
	}
}

uint32_t tally_resident(const void *ptr, size_t size)
{
	uintptr_t at = (uintptr_t)ptr & ~(PAGE - 1);
	uintptr_t end = ((uintptr_t)ptr + size + PAGE - 1) & ~(PAGE - 1);
	unsigned char there[1024];
	uint32_t nr = 0;

	while (at < end) {
		size_t pages = min_size((end - at) / PAGE, sizeof(there));

		if (!mincore((void *)at, pages * PAGE, there))
			for (size_t i = 0; i < pages; i++)
				nr += there[i] & 1;
		at += pages * PAGE;
	}
	return nr;
}

/* [T1] The slot that holds @ptr, or SLOTS. */
static uint32_t find_slot(uintptr_t ptr)
{
	uint32_t slot = slot_of(ptr);

	for (uint32_t i = 0; i < SLOTS; i++, slot = (slot + 1) % SLOTS) {
		uintptr_t key = load_relaxed(&keys[slot]);

		if (key == ptr)
			return slot;
		if (key == NONE)
			break;
	}
	return SLOTS;
}

static void insert_locked(uintptr_t ptr, struct tally_block block)
{
	uint32_t slot = slot_of(ptr);

	while (keys[slot] != NONE && keys[slot] != GONE)
		slot = (slot + 1) % SLOTS;
	slots_used += keys[slot] == NONE;
	blocks[slot] = block;
	store_relaxed(&keys[slot], ptr);
}

static void remove_locked(uint32_t slot)
{
	uint32_t next = (slot + 1) % SLOTS;

	store_relaxed(&keys[slot], GONE);
	if (keys[next] != NONE)
		return;
	for (; keys[slot] == GONE; slot = (slot - 1) % SLOTS) {
		store_relaxed(&keys[slot], NONE);
		slots_used--;
	}
}

/* Times are taken outside the lock, so they may come in any order. */
static uint64_t age_at(uint64_t now, uint64_t when)
{
	return now > when ? now - when : 0;
}

/* The newest block in @from that fits @size; its index, or -1. */
static int fitting(const struct kept *from, uint64_t size, uint64_t now)
{
	uint32_t look = from->nr < KEPT_LOOK ? from->nr : KEPT_LOOK;

	for (uint32_t i = from->nr; i > from->nr - look; i--) {
		const struct kept_block *b = &from->block[i - 1];

		if (age_at(now, b->when_ns) > decay_ns)
			return -1;
		if (b->size >= size && b->size - size <= size / 4)
			return (int)(i - 1);
	}
	return -1;
}

static void keep_locked(uint64_t size, uint64_t now)
{
	struct kept *to = &kept[class_of(size)];

	if (to->nr == KEPT) {
		to->nr = KEPT / 2;
		memmove(to->block, to->block + KEPT / 2,
			KEPT / 2 * sizeof(to->block[0]));
	}
	to->block[to->nr++] = (struct kept_block){ size, now };
}

/* Serve @size from what was freed before; false when nothing fits. */
static bool reuse_locked(struct tally_class *class, uint64_t size, uint64_t now)
{
	unsigned int last = class_of(size + size / 4);

	for (unsigned int c = class_of(size); c <= last; c++) {
		struct kept *from = &kept[c];
		int at = fitting(from, size, now);

		if (at < 0)
			continue;
		class->gap[log2_of(age_at(now, from->block[at].when_ns))]++;
		from->nr--;
		memmove(from->block + at, from->block + at + 1,
			(from->nr - (uint32_t)at) * sizeof(from->block[0]));
		return true;
	}
	return false;
}

static void note_size(struct tally_class *class, uint64_t size)
{
	int rarest = 0;

	if (!class->min || size < class->min)
		class->min = size;
	if (size > class->max)
		class->max = size;
	for (int i = 0; i < TALLY_SIZES; i++) {
		if (class->common[i].size == size) {
			class->common[i].count++;
			return;
		}
		if (class->common[i].count < class->common[rarest].count)
			rarest = i;
	}
	class->common[rarest].size = size;
	class->common[rarest].count++;
}

static void live_up(struct tally_class *class, uint64_t size)
{
	struct tally_total *total = &tally.total;

	if (++class->live > class->live_peak)
		class->live_peak = class->live;
	total->live_bytes += size;
	if (total->live_bytes > total->live_bytes_peak)
		total->live_bytes_peak = total->live_bytes;
}

static void live_down(struct tally_class *class, uint64_t size)
{
	class->live--;
	tally.total.live_bytes -= size;
}

static uint64_t hash_of(void *const *frame, uint32_t nr)
{
	uint64_t hash = nr;

	for (uint32_t i = 0; i < nr; i++) {
		hash = (hash ^ (uintptr_t)frame[i]) * 0x9fb21c651e98df25u;
		hash ^= hash >> 29;
	}
	return hash | 1;
}

/* The site of these frames; TALLY_NO_SITE when the table is full. */
static uint16_t site_locked(void *const *frame, uint32_t nr)
{
	uint64_t hash = hash_of(frame, nr);
	uint32_t at = (uint32_t)(hash >> 32) % TALLY_SITES;

	for (uint32_t i = 0; i < TALLY_SITES; i++) {
		struct tally_site *site = &tally.site[at];

		if (site->hash == hash)
			return (uint16_t)at;
		if (!site->hash) {
			site->hash = hash;
			site->nr_frames = nr;
			memcpy(site->frame, frame, nr * sizeof(frame[0]));
			return (uint16_t)at;
		}
		at = (at + 1) % TALLY_SITES;
	}
	return TALLY_NO_SITE;
}

static void count_site(struct tally_block *block, void *const *frame,
		       uint32_t nr, uint32_t weight)
{
	struct tally_site *site;

	block->site = nr ? site_locked(frame, nr) : TALLY_NO_SITE;
	if (block->site == TALLY_NO_SITE)
		return;
	block->weight = (uint8_t)weight;
	site = &tally.site[block->site];
	site->blocks += weight;
	site->bytes += weight * block->size;
}

/* Pages that the block bought since it was handed out. */
static void count_pages(const struct tally_block *block, uint32_t resident)
{
	struct tally_class *class = &tally.class[class_of(block->size)];
	uint64_t pages = resident > block->there ? resident - block->there : 0;

	if (!block->reused) {
		class->first_pages += pages;
		tally.total.first_pages += pages;
		return;
	}
	class->refaulted_pages += pages;
	tally.total.refaulted_pages += pages;
	if (block->site != TALLY_NO_SITE)
		tally.site[block->site].refaulted_pages +=
			pages * block->weight;
}

static void count_block(const struct tally_block *block)
{
	struct tally_class *class = &tally.class[class_of(block->size)];
	struct tally_total *total = &tally.total;

	class->blocks++;
	class->bytes += block->size;
	class->reused += block->reused;
	note_size(class, block->size);
	live_up(class, block->size);
	total->blocks++;
	total->bytes += block->size;
	total->reused += block->reused;
	total->reused_bytes += block->reused ? block->size : 0;
}

void tally_add(const void *ptr, size_t size, void *const *frame, uint32_t nr,
	       uint32_t weight)
{
	struct tally_block block = {
		.size = size,
		.there = tally_resident(ptr, size),
	};
	struct tally_class *class = &tally.class[class_of(size)];
	uint64_t now = now_ns();

	tally_lock();
	if (slots_used >= SLOTS_USED) {
		tally.total.lost++;
	} else {
		block.epoch = epoch;
		block.reused = reuse_locked(class, size, now);
		count_site(&block, frame, nr, weight);
		count_block(&block);
		insert_locked((uintptr_t)ptr, block);
	}
	tally_unlock();
}

bool tally_take(const void *ptr, struct tally_block *out)
{
	uint32_t slot = find_slot((uintptr_t)ptr);

	if (likely(slot == SLOTS))
		return false;
	tally_lock();
	*out = blocks[slot];
	remove_locked(slot);
	tally_unlock();
	return true;
}

void tally_freed(const struct tally_block *block, uint32_t resident)
{
	uint64_t now = now_ns();

	tally_lock();
	if (block->epoch == epoch) {
		count_pages(block, resident);
		live_down(&tally.class[class_of(block->size)], block -> size);
	}
	keep_locked(block->size, now);
	tally_unlock();
}

void tally_resized(const void *ptr, size_t size, struct tally_block block)
{
	struct tally_class *class = &tally.class[class_of(size)];

	tally_lock();
	if (block.epoch == epoch) {
		live_down(&tally.class[class_of(block.size)], block.size);
		live_up(class, size);
		class->resized++;
		note_size(class, size);
		tally.total.resized++;
	}
	block.size = size;
	insert_locked((uintptr_t)ptr, block);
	tally_unlock();
}

void tally_put_back(const void *ptr, struct tally_block block)
{
	tally_lock();
	insert_locked((uintptr_t)ptr, block);
	tally_unlock();
}

void tally_count_live_locked(void)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct tally_block *block = &blocks[slot];
		uint32_t resident;

		if (keys[slot] == NONE || keys[slot] == GONE ||
		    block->epoch != epoch)
			continue;
		resident = tally_resident((void *)keys[slot], block->size);
		count_pages(block, resident);
		if (resident > block->there)
			block->there = resident;
	}
}

void tally_lock(void)
{
	pthread_mutex_lock(&lock);
}

void tally_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool tally_lock_or_not(void)
{
	for (int i = 0; i < 1000; i++) {
		if (!pthread_mutex_trylock(&lock))
			return true;
		sched_yield();
	}
	return false;
}

/* Whole pages of zeros again, without touching those that still are. */
static void clear_table(void *table, size_t len)
{
	size_t whole = len & ~(PAGE - 1);

	if (madvise(table, whole, MADV_DONTNEED))
		memset(table, 0, whole);
	memset((char *)table + whole, 0, len - whole);
}

void tally_child_locked(void)
{
	epoch++;
	clear_table(&tally, sizeof(tally));
	clear_table(kept, sizeof(kept));
	memset(cells, 0, sizeof(cells));
}

uint64_t tally_gap_median(const struct tally_class *class)
{
	uint64_t sum = 0, half;
	int i;

	for (i = 0; i < TALLY_GAPS; i++)
		sum += class->gap[i];
	half = (sum + 1) / 2;
	for (i = 0, sum = 0; half && i < TALLY_GAPS; i++) {
		sum += class->gap[i];
		if (sum >= half)
			return (1ull << i) + (1ull << i) / 2;
	}
	return 0;
}
