/* SPDX-License-Identifier: MIT */
/* Span descriptors, and the tree that finds the best fitting kept span. */
#include "region/span.h"

#include "base/assert.h"
#include "base/bits.h"
#include "os/os.h"

_Static_assert(sizeof(struct span) == 64,
	       "a span descriptor is one cache line");

static bool before(const struct span *a, const struct span *b)
{
	if (a->nr_pages != b->nr_pages)
		return a->nr_pages < b->nr_pages;
	return a->page < b->page;
}

/*
 * A mix in which each bit reaches all others, and no two pages are equal.  One
 * multiplication is not enough: over addresses at even distances, which is how
 * blocks of one size lie, it makes regular sequences and so deep trees.
 */
static uint64_t priority(const struct span *span)
{
	uint64_t x = span->page * 0x9e3779b97f4a7c15ull;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Cut the tree at @at: *smaller gets what comes before it, *larger the rest. */
static void tree_cut(struct span *tree, const struct span *at,
		     struct span **smaller, struct span **larger)
{
	while (tree) {
		if (before(tree, at)) {
			*smaller = tree;
			smaller = &tree->right;
			tree = tree->right;
		} else {
			*larger = tree;
			larger = &tree->left;
			tree = tree->left;
		}
	}
	*smaller = *larger = NULL;
}

/* Join two trees of which all of @smaller comes before all of @larger. */
static struct span *tree_join(struct span *smaller, struct span *larger)
{
	struct span *root, **link = &root;

	while (smaller && larger) {
		if (priority(smaller) > priority(larger)) {
			*link = smaller;
			link = &smaller->right;
			smaller = smaller->right;
		} else {
			*link = larger;
			link = &larger->left;
			larger = larger->left;
		}
	}
	*link = smaller ? smaller : larger;
	return root;
}

void span_tree_insert(struct span **root, struct span *span)
{
	struct span **link = root;

	while (*link && priority(*link) > priority(span))
		link = before(*link, span) ? &(*link)->right : &(*link)->left;
	tree_cut(*link, span, &span->left, &span->right);
	*link = span;
}

void span_tree_remove(struct span **root, struct span *span)
{
	struct span **link = root;

	while (*link != span) {
		ASSERT(*link);
		link = before(*link, span) ? &(*link)->right : &(*link)->left;
	}
	*link = tree_join(span->left, span->right);
	span->left = span->right = NULL;
}

struct span *span_tree_best_fit(struct span *root, size_t nr_pages)
{
	struct span *best = NULL;

	while (root) {
		if (root->nr_pages >= nr_pages) {
			best = root;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return best;
}

struct span *span_tree_largest(struct span *root)
{
	while (root && root->right)
		root = root->right;
	return root;
}

size_t span_tree_check(const struct span *root)
{
	if (!root)
		return 0;
	ASSERT(!root->left || (before(root->left, root) &&
			       priority(root->left) < priority(root)));
	ASSERT(!root->right || (before(root, root->right) &&
				priority(root->right) < priority(root)));
	return 1 + span_tree_check(root->left) + span_tree_check(root->right);
}

/* The pool */

#define CHUNK_BYTES ((size_t)64 << 10)

struct pool_chunk {
	struct pool_chunk *next;
	struct span spans[] __attribute__((aligned(64)));
};

#define CHUNK_SPANS                                                            \
	((CHUNK_BYTES - sizeof(struct pool_chunk)) / sizeof(struct span))

_Static_assert(offsetof(struct pool_chunk, spans) % sizeof(struct span) == 0,
	       "a span descriptor lies in one cache line");

void span_pool_open(struct span_pool *pool)
{
	lock_init(&pool->lock, RANK_PAGEMAP);
	list_init(&pool->spare);
	pool->spare_holes = NULL;
	pool->chunks = NULL;
	pool->nr_used = 0;
}

void span_pool_close(struct span_pool *pool)
{
	while (pool->chunks) {
		struct pool_chunk *next = pool->chunks->next;

		os->unmap(pool->chunks, CHUNK_BYTES);
		pool->chunks = next;
	}
}

static bool pool_grow_locked(struct span_pool *pool)
{
	void *memory;
	struct pool_chunk *chunk;

	if (os->map(CHUNK_BYTES, PAGE_SIZE, &memory))
		return false;
	chunk = memory;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->nr_used = 0;
	return true;
}

/* Descriptors that were never used come from the newest chunk, in order. */
static struct span *pool_carve_locked(struct span_pool *pool)
{
	if (!pool->chunks || pool->nr_used == CHUNK_SPANS)
		if (!pool_grow_locked(pool))
			return NULL;
	return &pool->chunks->spans[pool->nr_used++];
}

static struct span *pool_get_locked(struct span_pool *pool)
{
	struct list *first = pool->spare.next;

	if (list_empty(&pool->spare))
		return pool_carve_locked(pool);
	list_remove(first);
	return container_of(first, struct span, by_age);
}

struct span *span_pool_get(struct span_pool *pool)
{
	lock_take(&pool->lock);
	struct span *span = pool_get_locked(pool);
	lock_release(&pool->lock);
	return span;
}

void span_pool_put(struct span_pool *pool, struct span *span)
{
	span_set(span, 0, SPAN_UNUSED);
	span->holes = NULL;
	lock_take(&pool->lock);
	list_add(&pool->spare, &span->by_age);
	lock_release(&pool->lock);
}

/* A hole record is a span descriptor's memory used another way: rare. */
_Static_assert(sizeof(struct hole) <= sizeof(struct span), "");

struct hole *span_pool_get_hole(struct span_pool *pool)
{
	struct hole *hole;

	lock_take(&pool->lock);
	hole = pool->spare_holes;
	if (hole)
		pool->spare_holes = hole->next;
	else
		hole = (struct hole *)pool_carve_locked(pool);
	lock_release(&pool->lock);
	return hole;
}

void span_pool_put_holes(struct span_pool *pool, struct hole *holes)
{
	lock_take(&pool->lock);
	while (holes) {
		struct hole *next = holes->next;

		holes->next = pool->spare_holes;
		pool->spare_holes = holes;
		holes = next;
	}
	lock_release(&pool->lock);
}
