/* SPDX-License-Identifier: MIT */
/* What store.h promises of blocks, promise by promise. */
#include "store_fixture.h"

#include <sys/syscall.h>

/* Hits, splits, merges */

static void a_freed_block_comes_again(void **state)
{
	char *block = alloc(MIB);

	(void)state;
	give(block);
	assert_true(COUNT(&store, bytes_kept) == MIB);
	assert_ptr_equal(alloc(MIB), block);
	assert_true(COUNT(&store, span_hit) == 1);
	assert_true(COUNT(&store, bytes_reused) == MIB);
	give(block);
	check_all(&store, 0);
}

static void best_fit_is_taken(void **state)
{
	uint64_t hits;
	char *block[7];

	(void)state;
	apart(block, 64 * PAGE_SIZE, 4 * PAGE_SIZE, 7); /* 64, 60, … 40 */
	for (int i = 0; i < 7; i++)
		give(block[(i * 3 + 1) % 7]);
	hits = COUNT(&store, span_hit);
	assert_ptr_equal(alloc(41 * PAGE_SIZE), block[5]);
	assert_ptr_equal(alloc(45 * PAGE_SIZE), block[4]);
	assert_ptr_equal(alloc(40 * PAGE_SIZE), block[6]);
	assert_ptr_equal(alloc(40 * PAGE_SIZE), block[3]);
	assert_true(COUNT(&store, span_hit) == hits + 4);
	check_all(&store, 7 + 4);
}

static void up_to_a_quarter_more_is_taken_whole(void **state)
{
	char *block = alloc(100 * PAGE_SIZE);

	(void)state;
	give(block);
	assert_ptr_equal(alloc(80 * PAGE_SIZE), block);
	assert_int_equal(store_usable(&store, block), 100 * PAGE_SIZE);
	assert_true(COUNT(&store, span_split) == 0);
	give(block);
	assert_ptr_equal(alloc(79 * PAGE_SIZE), block);
	assert_int_equal(store_usable(&store, block), 79 * PAGE_SIZE);
	assert_true(COUNT(&store, span_split) == 1);
	assert_true(COUNT(&store, bytes_kept) == 21 * PAGE_SIZE);
	give(block);
	assert_true(COUNT(&store, span_merge) == 1);
	assert_true(COUNT(&store, bytes_kept) == 100 * PAGE_SIZE);
	check_all(&store, 0);
}

static void neighbours_merge_in_every_order(void **state)
{
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }
	};

	(void)state;
	for (int i = 0; i < 6; i++)
		for (size_t pages = 100; pages < 2000; pages += 611) {
			char *at[3];

			three_in_a_row(at, pages * PAGE_SIZE);
			for (int j = 0; j < 3; j++) {
				give(at[orders[i][j]]);
				check_all(&store, 2 - (uint64_t)j);
			}
			assert_ptr_equal(alloc(3 * pages * PAGE_SIZE), at[0]);
			give(at[0]);
			store_trim(&store);
		}
}

/* Alignment */

static void alignments_up_to_1_gib(void **state)
{
	(void)state;
	for (size_t align = PAGE_SIZE; align <= GIB; align *= 2) {
		char *block = store_alloc(&store, 3 * MIB, align, false);

		assert_non_null(block);
		assert_true((uintptr_t)block % align == 0);
		block[0] = block[3 * MIB - 1] = 1;
		give(block);
		check_all(&store, 0);
	}
}

/* A block that was asked for with an alignment serves the same request again */
static void an_aligned_block_comes_again(void **state)
{
	char *block = store_alloc(&store, 2 * MIB, 2 * MIB, false);

	(void)state;
	for (int i = 0; i < 5; i++) {
		give(block);
		assert_ptr_equal(store_alloc(&store, 2 * MIB, 2 * MIB, false),
				 block);
	}
	assert_true(COUNT(&store, span_hit) == 5);
	assert_true(COUNT(&store, span_fresh) == 1);
}

static void an_aligned_block_out_of_the_middle(void **state)
{
	char *block = store_alloc(&store, 8 * MIB + PAGE_SIZE, 2 * MIB, false);
	char *fence = store_resize(&store, block, PAGE_SIZE);
	char *middle = store_alloc(&store, MIB, 2 * MIB, false);

	(void)state;
	assert_ptr_equal(fence, block);
	assert_ptr_equal(middle, block + 2 * MIB);
	check_all(&store, 2);
	assert_true(COUNT(&store, bytes_kept) == 7 * MIB);
	give(middle);
	give(block);
	check_all(&store, 0);
	assert_ptr_equal(alloc(8 * MIB), block);
}

/* Zeros */

static bool all_zero(const char *block, size_t bytes)
{
	return !block[0] && !memcmp(block, block + 1, bytes - 1);
}

static void zeros_from_kept_memory(void **state)
{
	size_t bytes = 2 * MIB + 5;
	char *block = alloc(bytes), *again;

	(void)state;
	memset(block, 0x5a, store_usable(&store, block));
	give(block);
	again = store_alloc(&store, bytes, PAGE_SIZE, true);
	assert_ptr_equal(again, block);
	assert_true(all_zero(again, bytes));
	assert_true(COUNT(&store, bytes_cleared) == bytes);
}

static void a_large_zero_block_is_fresh_and_sparse(void **state)
{
	char *dirty = alloc(GIB);
	char *block;

	(void)state;
	memset(dirty, 1, PAGE_SIZE);
	give(dirty);
	block = store_alloc(&store, GIB, PAGE_SIZE, true);
	assert_non_null(block);
	assert_true(resident_pages(block, GIB) == 0);
	assert_true(!block[0] && !block[GIB / 2] && !block[GIB - 1]);
	assert_true(resident_pages(block, GIB) <= 3 * 512);
	assert_true(COUNT(&store, bytes_cleared) == 0);
	give(block);
	check_all(&store, 0);
}

static void a_sparse_block_has_no_huge_pages(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	options.thp = THP_AUTO;
	reopen(options);
	block = store_alloc(&store, 256 * MIB, PAGE_SIZE, true);
	assert_false(has_vm_flag(block, " hg"));
	for (size_t at = 0; at < 256 * MIB; at += 2 * MIB)
		block[at] = 1;
	assert_true(resident_pages(block, 256 * MIB) == 128);
	give(block);
	store_trim(&store);
	block = store_alloc(&store, 3 * MIB, PAGE_SIZE, false);
	assert_true(has_vm_flag(block, " hg"));
	assert_true((uintptr_t)block % (2 * MIB) == 0);
}

/* Resize */

static void shrink_keeps_the_rest(void **state)
{
	char *block = alloc(MIB);

	(void)state;
	fill(block, MIB);
	assert_ptr_equal(store_resize(&store, block, 900 * KIB), block);
	assert_int_equal(store_usable(&store, block), MIB);
	assert_ptr_equal(store_resize(&store, block, 256 * KIB), block);
	assert_int_equal(store_usable(&store, block), 256 * KIB);
	expect_filled(block, 256 * KIB);
	assert_true(COUNT(&store, bytes_kept) == 768 * KIB);
	check_all(&store, 1);
	assert_ptr_equal(store_resize(&store, block, 0), block);
	assert_int_equal(store_usable(&store, block), PAGE_SIZE);
	give(block);
	assert_true(COUNT(&store, bytes_kept) == MIB);
	check_all(&store, 0);
}

static void shrink_without_keeping(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	options.decay_ms = 0;
	reopen(options);
	block = alloc(MIB);
	assert_ptr_equal(store_resize(&store, block, 256 * KIB), block);
	assert_true(is_mapped(block + 252 * KIB));
	assert_false(is_mapped(block + 256 * KIB));
	assert_true(COUNT(&store, bytes_direct) == 768 * KIB);
	check_all(&store, 1);
	give(block);
	assert_false(is_mapped(block));
	check_all(&store, 0);
}

static void grow_in_place(void **state)
{
	char *at[3];

	(void)state;
	three_in_a_row(at, MIB);
	fill(at[0], MIB);
	give(at[1]);
	assert_ptr_equal(store_resize(&store, at[0], MIB + PAGE_SIZE), at[0]);
	assert_int_equal(store_usable(&store, at[0]), MIB + PAGE_SIZE);
	check_all(&store, 2);
	assert_ptr_equal(store_resize(&store, at[0], 2 * MIB), at[0]);
	expect_filled(at[0], MIB);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_true(COUNT(&store, resize_in_place) == 2);
	check_all(&store, 2);
	/* the next neighbour lives: it moves */
	char *moved = store_resize(&store, at[0], 3 * MIB);
	assert_non_null(moved);
	expect_filled(moved, MIB);
	check_all(&store, 2);
}

static void growth_moves_pages(void **state)
{
	static const enum thp_policy policies[] = { THP_NEVER, THP_AUTO };
	struct store_options options = quiet_options();

	(void)state;
	for (int i = 0; i < 2; i++) {
		options.thp = policies[i];
		reopen(options);
		/* no multiple of a huge page */
		char *block = alloc(3 * MIB);
		fill(block, 3 * MIB);
		char *moved = store_resize(&store, block, 30 * MIB);
		assert_non_null(moved);
		expect_filled(moved, 3 * MIB);
		assert_true(all_zero(moved + 3 * MIB, 27 * MIB));
		assert_true(COUNT(&store, resize_moved) == 1);
		assert_true(COUNT(&store, resize_copied) == 0);
		assert_true(COUNT(&store, remap_failed) == 0);
		/* again, far enough to be past the spare eighth */
		moved = store_resize(&store, moved, 60 * MIB);
		assert_true(COUNT(&store, resize_moved) == 2);
		expect_filled(moved, 3 * MIB);
		check_all(&store, 1);
	}
}

static void step_by_step_growth_moves_rarely(void **state)
{
	char *block = alloc(MIB);

	(void)state;
	for (size_t bytes = MIB; bytes <= 64 * MIB; bytes += 128 * KIB)
		assert_non_null(block = store_resize(&store, block, bytes));
	assert_true(COUNT(&store, resize_moved) < 50);
	assert_true(COUNT(&store, resize_copied) == 0);
	check_all(&store, 1);
}

/* Two mappings in one block: the kernel cannot move it, it is copied. */
static void growth_copies_where_it_must(void **state)
{
	char *block = alloc(MIB), *moved;

	(void)state;
	fill(block, MIB);
	store_note(&store, block, 64 * KIB, NOTE_TAINT);
	assert_int_equal(madvise(block, 64 * KIB, MADV_DONTFORK), 0);
	moved = store_resize(&store, block, 3 * MIB);
	assert_non_null(moved);
	assert_ptr_not_equal(moved, block);
	expect_filled(moved, MIB);
	assert_true(COUNT(&store, resize_copied) == 1);
	assert_true(COUNT(&store, remap_failed) == 1);
	assert_false(is_mapped(block));
	assert_false(has_vm_flag(moved, " dc"));
	check_all(&store, 1);
}

/* Kept memory made larger by moving */

static void kept_memory_grows(void **state)
{
	char *block = alloc(4 * MIB), *larger;

	(void)state;
	memset(block, 7, 4 * MIB);
	give(block);
	larger = alloc(6 * MIB);
	assert_true(COUNT(&store, span_grown) == 1);
	assert_true(COUNT(&store, bytes_reused) == 4 * MIB);
	assert_true(resident_pages(larger, 6 * MIB) == PAGES(4 * MIB));
	assert_true(COUNT(&store, bytes_kept) == 0);
	check_all(&store, 1);
}

static void kept_memory_that_cannot_grow_ages(void **state)
{
	struct store_options options = quiet_options();
	char *at, *fence;

	(void)state;
	options.decay_ms = 1000;
	reopen(options);
	at = alloc(4 * MIB);
	fence = alloc(MIB);
	/* two mappings, as after a merge of two blocks */
	assert_int_equal(madvise(at, MIB, MADV_DONTDUMP), 0);
	give(at);
	for (int i = 0; i < 4; i++) {
		sim_advance_ms(400);
		char *larger = alloc(6 * MIB);

		assert_true(i == 3 ||
			    COUNT(&store, remap_failed) == (uint64_t)i + 1);
		store_note(&store, larger, 1, NOTE_TAINT);
		give(larger);
		give(alloc(MIB));
	}
	assert_true(COUNT(&store, bytes_decayed) == 4 * MIB);
	assert_false(is_mapped(at));
	give(fence);
	check_all(&store, 0);
}

/* Misuse */

static void misuse_has_a_code(void **state)
{
	char *at[3];
	char *foreign = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	three_in_a_row(at, 3 * MIB);
	assert_int_equal(store_free(&store, foreign), -ENOENT);
	assert_int_equal(store_free(&store, foreign + 8), -ENOENT);
	assert_int_equal(store_free(&store, &at), -ENOENT);
	assert_int_equal(store_free(&store, NULL), -ENOENT);
	assert_int_equal(store_free(&store, (void *)-PAGE_SIZE), -ENOENT);
	assert_int_equal(store_free(&store, (void *)(PAGE_SIZE << 36)),
			 -ENOENT);
	assert_true(COUNT(&store, free_foreign) == 0);
	assert_int_equal(store_free(&store, at[1] + 8), -EINVAL);
	for (size_t inside = PAGE_SIZE; inside < 3 * MIB; inside += PAGE_SIZE)
		assert_int_equal(store_free(&store, at[1] + inside), -EINVAL);
	assert_true(COUNT(&store, free_foreign) == 768);
	check_all(&store, 3);
	give(at[1]);
	assert_int_equal(store_free(&store, at[1]), -EALREADY);
	assert_int_equal(store_free(&store, at[1] + PAGE_SIZE), -EALREADY);
	give(at[0]);
	assert_int_equal(store_free(&store, at[1]), -EALREADY);
	assert_int_equal(store_free(&store, at[0]), -EALREADY);
	assert_true(COUNT(&store, free_twice) == 4);
	assert_null(store_resize(&store, at[0], MIB));
	assert_null(store_resize(&store, at[2] + PAGE_SIZE, MIB));
	assert_int_equal(store_usable(&store, at[0]), 0);
	assert_int_equal(store_usable(&store, at[2] + PAGE_SIZE), 0);
	store_trim(&store);
	assert_int_equal(store_free(&store, at[0]), -ENOENT);
	check_all(&store, 1);
	munmap(foreign, MIB);
}

static void odd_requests(void **state)
{
	static const size_t too_large[] = { SIZE_MAX,	     SIZE_MAX - 4095,
					    SIZE_MAX - 4096, SIZE_MAX / 2,
					    (size_t)1 << 62, (size_t)1 << 48,
					    (size_t)1 << 47 };
	char *kept = alloc(MIB), *block;

	(void)state;
	give(kept);
	for (size_t i = 0; i < sizeof(too_large) / sizeof(size_t); i++) {
		errno = 77;
		assert_null(
			store_alloc(&store, too_large[i], PAGE_SIZE, i & 1));
		assert_null(store_alloc(&store, too_large[i], 2 * MIB, 0));
		assert_int_equal(errno, 77);
	}
	assert_null(store_alloc(&store, MIB, (size_t)1 << 62, false));
	assert_null(store_alloc(&store, MIB, (size_t)1 << 63, false));
	assert_null(store_alloc(&store, MIB, (size_t)1 << 47, false));
	check_all(&store, 0);
	block = store_alloc(&store, 0, 1, false);
	assert_non_null(block);
	assert_int_equal(store_usable(&store, block), PAGE_SIZE);
	assert_null(store_resize(&store, block, SIZE_MAX));
	assert_null(store_resize(&store, block, SIZE_MAX - 4095));
	assert_null(store_resize(&store, block, (size_t)1 << 47));
	assert_int_equal(store_usable(&store, block), PAGE_SIZE);
	check_all(&store, 1);
}

/* [S1] a request that is refused says nothing about how much will be live */
static void a_refused_request_is_no_peak(void **state)
{
	char *block[8];

	(void)state;
	assert_null(store_alloc(&store, (size_t)1 << 46, PAGE_SIZE, false));
	for (int i = 0; i < 8; i++)
		block[i] = alloc(4 * MIB);
	for (int i = 0; i < 8; i++)
		give(block[i]);
	assert_true(COUNT(&store, bytes_kept) == 32 * MIB);
	alloc(31 * MIB + 512 * KIB); /* fits: merged or not */
	give(alloc(40 * MIB));
	assert_true(COUNT(&store, bytes_kept) + COUNT(&store, bytes_live) <=
		    (32 + 40) * MIB * 17 / 16 + 4 * MIB);
}

/* Taint and holes */

static void recycled_memory_carries_no_state(void **state)
{
	static const struct {
		int advice;
		const char *flag;
	} kinds[] = { { MADV_DONTFORK, " dc" },
		      { MADV_DONTDUMP, " dd" },
		      { MADV_MERGEABLE, " mg" } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		char *block = alloc(MIB), *again;

		store_note(&store, block + 8 * PAGE_SIZE, PAGE_SIZE,
			   NOTE_TAINT);
		if (madvise(block + 8 * PAGE_SIZE, PAGE_SIZE, kinds[i].advice))
			continue; /* not in this kernel */
		assert_true(has_vm_flag(block + 8 * PAGE_SIZE, kinds[i].flag));
		give(block);
		assert_true(COUNT(&store, bytes_kept) == 0);
		again = alloc(MIB);
		assert_false(has_vm_flag(again + 8 * PAGE_SIZE, kinds[i].flag));
		store_note(&store, again, 1, NOTE_TAINT);
		give(again);
	}
	check_all(&store, 0);
}

static void protected_and_locked_blocks(void **state)
{
	char *block = alloc(MIB);

	(void)state;
	store_note(&store, block, MIB, NOTE_TAINT);
	store_note(&store, block, MIB, NOTE_TAINT);
	assert_true(COUNT(&store, span_tainted) == 1);
	assert_int_equal(mprotect(block, MIB, PROT_NONE), 0);
	give(block);
	block = alloc(MIB);
	memset(block, 1, MIB);
	store_note(&store, block, PAGE_SIZE, NOTE_TAINT);
	/* by number: sanitizers make the function do nothing */
	if (!syscall(SYS_mlock, block, PAGE_SIZE))
		assert_true(has_vm_flag(block, " lo"));
	give(block);
	assert_true(COUNT(&store, bytes_direct) == 2 * MIB);
	block = alloc(MIB);
	assert_false(has_vm_flag(block, " lo"));
	/* a cut does not wash the rest clean */
	store_note(&store, block + MIB - 1, 1, NOTE_TAINT);
	assert_ptr_equal(store_resize(&store, block, 256 * KIB), block);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_false(is_mapped(block + 512 * KIB));
	give(block);
	check_all(&store, 0);
}

static void notes_touch_only_their_range(void **state)
{
	char *at[3];

	(void)state;
	three_in_a_row(at, 5 * MIB);
	store_note(&store, at[0] + 5 * MIB, 5 * MIB, NOTE_TAINT);
	assert_true(COUNT(&store, span_tainted) == 1);
	store_note(&store, at[0] + 5 * MIB - 1, 2, NOTE_TAINT);
	assert_true(COUNT(&store, span_tainted) == 2);
	store_note(&store, at[2] + 3 * MIB, 0, NOTE_HOLE);
	store_note(&store, at[2] + 5 * MIB, MIB, NOTE_HOLE);
	store_note(&store, at[0] - MIB, MIB, NOTE_HOLE);
	store_note(&store, NULL, MIB, NOTE_HOLE);
	store_note(&store, at[2], SIZE_MAX, NOTE_HOLE);
	store_note(&store, (void *)-PAGE_SIZE, PAGE_SIZE - 1, NOTE_HOLE);
	store_note(&store, (void *)-PAGE_SIZE, PAGE_SIZE, NOTE_HOLE);
	assert_true(COUNT(&store, span_holed) == 0);
	store_note(&store, at[2] + 4 * MIB, 1, NOTE_TAINT);
	assert_true(COUNT(&store, span_tainted) == 3);
	for (int i = 0; i < 3; i++)
		give(at[i]);
	assert_true(COUNT(&store, bytes_kept) == 0);
	check_all(&store, 0);
}

/* A kept span that is changed goes: the whole of it, but the hole. */
static void notes_on_kept_memory(void **state)
{
	char *block = alloc(4 * MIB), *mine;

	(void)state;
	give(block);
	store_note(&store, block + MIB, PAGE_SIZE, NOTE_TAINT);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_false(is_mapped(block));
	block = alloc(4 * MIB);
	give(block);
	store_note(&store, block + MIB, MIB, NOTE_HOLE);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_false(is_mapped(block));
	assert_true(is_mapped(block + MIB)); /* the program's affair */
	mine = mmap(block + MIB, MIB, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(mine, block + MIB);
	assert_int_equal(munmap(mine, MIB), 0);
	check_all(&store, 0);
}

static void holes_are_left_alone(void **state)
{
	char *block = alloc(16 * MIB);

	(void)state;
	for (size_t i = 0; i < 16; i += 4) {
		store_note(&store, block + i * MIB, MIB, NOTE_HOLE);
		assert_ptr_equal(mmap(block + i * MIB, MIB, PROT_READ,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				      -1, 0),
				 block + i * MIB);
	}
	assert_true(COUNT(&store, span_holed) == 1);
	check_all(&store, 1);
	assert_int_equal(store_usable(&store, block), 16 * MIB);
	/* what lies there may be another library's block */
	assert_int_equal(store_free(&store, block + 4 * MIB), -ENOENT);
	assert_int_equal(store_free(&store, block + 3 * MIB), -EINVAL);
	assert_ptr_equal(store_resize(&store, block, MIB), block);
	assert_int_equal(store_usable(&store, block), 16 * MIB);
	give(block);
	for (size_t i = 0; i < 16; i++) {
		assert_int_equal(is_mapped(block + i * MIB), i % 4 == 0);
		assert_int_equal(is_mapped(block + i * MIB + MIB - 1),
				 i % 4 == 0);
	}
	for (size_t i = 0; i < 16; i += 4)
		munmap(block + i * MIB, MIB);
	check_all(&store, 0);
}

/*
 * The kernel hands the unmapped part of a live block to us again.  Whatever
 * then becomes of the old block, the new one stays whole.
 */
static void a_block_in_the_hole_of_another(void **state)
{
	(void)state;
	for (int tail = 0; tail < 2; tail++) {
		char *old = store_alloc(&store, 16 * MIB, 2 * MIB, false);
		char *hole = old + (tail ? 8 : 4) * MIB, *inside;

		store_note(&store, hole, 8 * MIB, NOTE_HOLE);
		assert_int_equal(munmap(hole, 8 * MIB), 0);
		/* as the kernel may do by itself: it has to be told to here */
		while ((inside = alloc(8 * MIB)) != hole)
			if (inside < hole - GIB || inside > hole + GIB)
				break;
		if (inside == hole) {
			check_all(&store, COUNT(&store, span_alloc) -
						  COUNT(&store, span_free));
			memset(inside, 3, 8 * MIB);
			give(old);
			assert_int_equal(store_usable(&store, inside), 8 * MIB);
			assert_int_equal(inside[5 * MIB], 3);
			give(inside);
			assert_ptr_equal(alloc(8 * MIB), inside);
			give(inside);
		}
		store_trim(&store);
	}
}

static void everything_is_noted(void **state)
{
	char *kept = alloc(MIB), *fence = alloc(MIB), *live = alloc(MIB);

	(void)state;
	give(kept);
	store_note_all(&store);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_true(COUNT(&store, span_tainted) == 2);
	give(live);
	give(fence);
	assert_true(COUNT(&store, bytes_kept) == 0);
	check_all(&store, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_freed_block_comes_again),
		TEST(best_fit_is_taken),
		TEST(up_to_a_quarter_more_is_taken_whole),
		TEST(neighbours_merge_in_every_order),
		TEST(alignments_up_to_1_gib),
		TEST(an_aligned_block_comes_again),
		TEST(an_aligned_block_out_of_the_middle),
		TEST(zeros_from_kept_memory),
		TEST(a_large_zero_block_is_fresh_and_sparse),
		TEST(a_sparse_block_has_no_huge_pages),
		TEST(shrink_keeps_the_rest),
		TEST(shrink_without_keeping),
		TEST(grow_in_place),
		TEST(growth_moves_pages),
		TEST(step_by_step_growth_moves_rarely),
		TEST(growth_copies_where_it_must),
		TEST(kept_memory_grows),
		TEST(kept_memory_that_cannot_grow_ages),
		TEST(misuse_has_a_code),
		TEST(odd_requests),
		TEST(a_refused_request_is_no_peak),
		TEST(recycled_memory_carries_no_state),
		TEST(protected_and_locked_blocks),
		TEST(notes_touch_only_their_range),
		TEST(notes_on_kept_memory),
		TEST(holes_are_left_alone),
		TEST(a_block_in_the_hole_of_another),
		TEST(everything_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
