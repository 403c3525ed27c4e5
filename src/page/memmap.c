/* SPDX-License-Identifier: MIT */
/* The arrays of a zone.  See memmap.h. */
#include "page/memmap.h"

#include <errno.h>

#include "base/bits.h"
#include "os/os.h"

/* Where each array begins in the one mapping that holds them all. */
struct places {
	size_t state, page, fresh, block_type, bytes;
};

static size_t append(size_t *bytes, size_t more)
{
	size_t at = *bytes;

	*bytes = at + ((more + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1));
	return at;
}

static struct places place_arrays(uint32_t end)
{
	struct places at = { 0 };

	at.state = append(&at.bytes, end);
	at.page = append(&at.bytes, end * sizeof(struct page));
	at.fresh = append(&at.bytes, ((size_t)end / 64 + 1) * 8);
	at.block_type = append(&at.bytes, ((size_t)end >> BLOCK_ORDER) + 1);
	return at;
}

int memmap_init(struct memmap *map, uint32_t start, uint32_t end)
{
	struct places at = place_arrays(end);
	void *memory;
	int error = os->map_backed(at.bytes, PAGE_SIZE, OS_LAZY, &memory);

	if (error)
		return error;
	/* A byte of state here and there must not cost 2 MiB each; where there
	 * are no huge pages this fails, and is not needed. */
	os->advise(memory, at.bytes, OS_NO_HUGE);
	*map = (struct memmap){
		.state = (uint8_t *)memory + at.state,
		.page = (void *)((char *)memory + at.page),
		.fresh = (void *)((char *)memory + at.fresh),
		.block_type = (uint8_t *)memory + at.block_type,
		.start = start,
		.end = end,
		.bytes = at.bytes,
	};
	return 0;
}

void memmap_destroy(struct memmap *map)
{
	if (map->bytes)
		os->unmap(map->state, map->bytes);
	*map = (struct memmap){ 0 };
}

/* The bits of word @word that stand for pages in [@page, @end). */
static uint64_t bits_of(size_t word, size_t page, size_t end)
{
	uint64_t bits = UINT64_MAX;

	if (word * 64 < page)
		bits &= UINT64_MAX << page % 64;
	if (end < word * 64 + 64)
		bits &= ~(UINT64_MAX << end % 64);
	return bits;
}

bool memmap_fresh(const struct memmap *map, uint32_t page, size_t nr)
{
	size_t end = page + nr;

	for (size_t word = page / 64; word * 64 < end; word++)
		if (~memmap_fresh_word(map, word) & bits_of(word, page, end))
			return false;
	return true;
}

size_t memmap_count_fresh(const struct memmap *map, uint32_t page, size_t nr)
{
	size_t end = page + nr, fresh = 0;

	for (size_t word = page / 64; word * 64 < end; word++)
		fresh += (size_t)__builtin_popcountll(
			memmap_fresh_word(map, word) &
			bits_of(word, page, end));
	return fresh;
}

/* Words that are right already stay unmapped. */
void memmap_set_fresh(struct memmap *map, uint32_t page, size_t nr, bool fresh)
{
	size_t end = page + nr;

	for (size_t word = page / 64; word * 64 < end; word++) {
		uint64_t bits = bits_of(word, page, end);
		uint64_t now = memmap_fresh_word(map, word);
		uint64_t then = fresh ? now | bits : now & ~bits;

		if (then != now)
			store_relaxed(&map->fresh[word],
				      then ^ map->fresh_invert);
	}
}
