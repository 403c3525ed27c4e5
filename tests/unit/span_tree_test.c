/* SPDX-License-Identifier: MIT */
/* The tree of kept spans against an array that is searched from end to end. */
#include "region.h"

#include "region/span.h"

#define MAX 300

static struct span spans[MAX];
static bool present[MAX];

static bool comes_before(const struct span *a, const struct span *b)
{
	return a->nr_pages != b->nr_pages ? a->nr_pages < b->nr_pages
					  : a->page < b->page;
}

static struct span *oracle_best_fit(size_t nr_pages)
{
	struct span *best = NULL;

	for (int i = 0; i < MAX; i++)
		if (present[i] && spans[i].nr_pages >= nr_pages &&
		    (!best || comes_before(&spans[i], best)))
			best = &spans[i];
	return best;
}

static struct span *oracle_largest(void)
{
	struct span *best = NULL;

	for (int i = 0; i < MAX; i++)
		if (present[i] && (!best || comes_before(best, &spans[i])))
			best = &spans[i];
	return best;
}

static void empty(void **state)
{
	(void)state;
	assert_null(span_tree_best_fit(NULL, 0));
	assert_null(span_tree_best_fit(NULL, 1));
	assert_null(span_tree_largest(NULL));
	assert_int_equal(span_tree_check(NULL), 0);
}

static void equal_sizes_by_address(void **state)
{
	struct span *root = NULL;
	struct span a = { .page = 30, .nr_pages = 5 };
	struct span b = { .page = 10, .nr_pages = 5 };
	struct span c = { .page = 20, .nr_pages = 5 };

	(void)state;
	span_tree_insert(&root, &a);
	span_tree_insert(&root, &b);
	span_tree_insert(&root, &c);
	assert_int_equal(span_tree_check(root), 3);
	assert_ptr_equal(span_tree_best_fit(root, 5), &b);
	assert_ptr_equal(span_tree_best_fit(root, 1), &b);
	assert_null(span_tree_best_fit(root, 6));
	assert_ptr_equal(span_tree_largest(root), &a);
	span_tree_remove(&root, &b);
	assert_ptr_equal(span_tree_best_fit(root, 5), &c);
	span_tree_remove(&root, &a);
	span_tree_remove(&root, &c);
	assert_null(root);
}

static void step(struct span **root, uint64_t *seed, size_t spread, int *nr)
{
	int i = (int)random_below(seed, MAX);

	if (present[i]) {
		span_tree_remove(root, &spans[i]);
		--*nr;
	} else {
		spans[i].nr_pages = 1 + random_below(seed, spread);
		span_tree_insert(root, &spans[i]);
		++*nr;
	}
	present[i] = !present[i];
}

static void random_against_oracle(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (size_t spread = 1; spread <= 1000000; spread *= 10) {
		struct span *root = NULL;
		int nr = 0;

		memset(present, 0, sizeof(present));
		for (int i = 0; i < MAX; i++)
			spans[i] =
				(struct span){ .page = 1000 + (size_t)i * 512 };
		for (int i = 0; i < 5000; i++) {
			size_t wanted = random_below(&seed, spread + 2);

			step(&root, &seed, spread, &nr);
			assert_int_equal(span_tree_check(root), nr);
			assert_ptr_equal(span_tree_best_fit(root, wanted),
					 oracle_best_fit(wanted));
			assert_ptr_equal(span_tree_largest(root),
					 oracle_largest());
		}
	}
}

static size_t depth(const struct span *root)
{
	size_t left, right;

	if (!root)
		return 0;
	left = depth(root->left);
	right = depth(root->right);
	return 1 + (left > right ? left : right);
}

/* Spans at even distances, which is how blocks of one size lie. */
static void even_distances_stay_shallow(void **state)
{
	static struct span many[1 << 14];
	size_t nr = sizeof(many) / sizeof(many[0]);

	(void)state;
	for (size_t step_pages = 32; step_pages <= 1 << 16; step_pages *= 2)
		for (size_t odd = 0; odd < 2; odd++) {
			struct span *root = NULL;

			for (size_t i = 0; i < nr; i++) {
				many[i] = (struct span){
					.page = 0x7f0000000 -
						i * (step_pages + odd),
					.nr_pages = 32,
				};
				span_tree_insert(&root, &many[i]);
			}
			assert_int_equal(span_tree_check(root), nr);
			assert_true(depth(root) < 60);
		}
}

static void remove_foreign(void *arg)
{
	struct span a = { .page = 30, .nr_pages = 5 };
	struct span b = { .page = 10, .nr_pages = 5 };
	struct span *root = NULL;

	(void)arg;
	span_tree_insert(&root, &a);
	span_tree_remove(&root, &b);
}

static void removing_what_is_not_there_panics(void **state)
{
	(void)state;
	assert_true(panics(remove_foreign, NULL));
}

/* The pool of descriptors */

static void descriptors_are_lines_and_come_back(void **state)
{
	static struct span *got[5000];
	struct span_pool pool;
	size_t before = anonymous_bytes();
	struct hole *holes = NULL;

	(void)state;
	span_pool_open(&pool);
	for (int i = 0; i < 5000; i++) {
		got[i] = span_pool_get(&pool);
		assert_non_null(got[i]);
		assert_true((uintptr_t)got[i] % 64 == 0);
		memset(&got[i]->page, 0xff, sizeof(got[i]->page));
		for (int j = i > 3 ? i - 3 : 0; j < i; j++)
			assert_ptr_not_equal(got[i], got[j]);
	}
	for (int i = 0; i < 100; i++) {
		struct hole *hole = span_pool_get_hole(&pool);

		assert_non_null(hole);
		hole->next = holes;
		holes = hole;
	}
	span_pool_put_holes(&pool, holes);
	assert_non_null(span_pool_get_hole(&pool));
	for (int i = 0; i < 5000; i++)
		span_pool_put(&pool, got[i]);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(span_state(span_pool_get(&pool)), SPAN_UNUSED);
	span_pool_close(&pool);
	if (!UNDER_SANITIZER)
		assert_true(anonymous_bytes() == before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(equal_sizes_by_address),
		cmocka_unit_test(random_against_oracle),
		cmocka_unit_test(even_distances_stay_shallow),
		cmocka_unit_test(removing_what_is_not_there_panics),
		cmocka_unit_test(descriptors_are_lines_and_come_back),
	};

	anonymous_bytes();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
