/* SPDX-License-Identifier: MIT */
/* How a zone stands: numbers that add up (P14, O1), text as in /proc. */
#include "pages.h"

static char text[1 << 16];

static void numbers_add_up(struct quire_zone *zone, size_t used)
{
	struct quire_zone_facts facts = zone_facts(zone);
	uint64_t c[QUIRE_NR_COUNTERS];

	assert_int_equal(facts.used_pages, used);
	assert_int_equal(facts.managed_pages,
			 facts.free_pages + facts.pcp_pages +
				 facts.depot_pages + facts.used_pages);
	quire_zone_counters(zone, c);
	assert_int_equal(c[QUIRE_COUNTER_pages_managed],
			 c[QUIRE_COUNTER_pages_free] +
				 c[QUIRE_COUNTER_pages_pcp] +
				 c[QUIRE_COUNTER_pages_depot] +
				 c[QUIRE_COUNTER_pages_used]);
	assert_true(c[QUIRE_COUNTER_pages_fresh] <=
		    c[QUIRE_COUNTER_pages_free]);
}

static void numbers(void **state)
{
	struct quire_zone *zone = zone_of_numbers((size_t)256 << 20);
	static void *pages[3000];
	void *range;

	(void)state;
	numbers_add_up(zone, 0);
	for (size_t i = 0; i < 3000; i++)
		pages[i] = quire_page_alloc(zone, i & 1 ? QUIRE_MOVABLE : 0);
	numbers_add_up(zone, 3000);
	range = quire_range_alloc(zone, 77, 0, 0);
	numbers_add_up(zone, 3077);
	for (size_t i = 0; i < 3000; i++)
		quire_block_free(zone, pages[i]);
	numbers_add_up(zone, 77);
	quire_range_free(zone, range, 77);
	quire_zone_drain(zone, -1);
	numbers_add_up(zone, 0);
	assert_int_equal(zone_facts(zone).pcp_pages, 0);
	assert_int_equal(zone_facts(zone).depot_pages, 0);
	zone_done(zone, 0);
}

static size_t lines_of(const char *s)
{
	size_t nr = 0;

	for (; *s; s++)
		nr += *s == '\n';
	return nr;
}

static void print(struct quire_zone *zone, enum quire_zone_text what)
{
	int n = quire_zone_print(zone, what, text, sizeof(text));

	assert_true(n > 0 && (size_t)n < sizeof(text));
	assert_int_equal(strlen(text), n);
	assert_int_equal(text[n - 1], '\n');
}

/* A zone of one block of the largest order, whose text is known. */
static void buddyinfo(void **state)
{
	struct quire_zone *zone = zone_of_numbers((size_t)1 << 30);
	void *page;

	(void)state;
	print(zone, QUIRE_ZONE_BUDDYINFO);
	assert_string_equal(
		text,
		"Node 0, zone shard0        0      0      0      0      0      0"
		"      0      0      0      0      0      0      0      0      0"
		"      0      0      0      1\n");
	page = quire_range_alloc(zone, 1, 0, 0);
	print(zone, QUIRE_ZONE_BUDDYINFO);
	assert_string_equal(
		text,
		"Node 0, zone shard0        1      1      1      1      1      1"
		"      1      1      1      1      1      1      1      1      1"
		"      1      1      1      0\n");
	quire_range_free(zone, page, 1);
	zone_done(zone, 0);
}

static void pagetypeinfo(void **state)
{
	struct quire_zone *zone = zone_of_numbers((size_t)1 << 30);

	(void)state;
	print(zone, QUIRE_ZONE_PAGETYPEINFO);
	assert_non_null(strstr(text, "Page block order: 9\n"
				     "Pages per block:  512\n\n"
				     "Free pages count per migrate type at "
				     "order "));
	assert_non_null(strstr(text, "type    Unmovable "));
	assert_non_null(strstr(text, "type      Isolate "));
	assert_non_null(strstr(text, "\nNumber of blocks type "));
	assert_int_equal(lines_of(text), 3 + 1 + 3 + 2 + 1);
	zone_done(zone, 0);
}

static void zoneinfo_and_vmstat(void **state)
{
	struct quire_zone *zone = zone_of_numbers((size_t)64 << 20);
	char line[64];

	(void)state;
	quire_block_free(zone, quire_page_alloc(zone, 0));
	print(zone, QUIRE_ZONE_ZONEINFO);
	assert_non_null(strstr(text, "Node 0, zone shard0"));
	assert_non_null(strstr(text, "  pages free     "));
	assert_non_null(strstr(text, "        managed  16384\n"));
	assert_true(CONFIG_UP || strstr(text, "    cpu: 0\n"));
	print(zone, QUIRE_ZONE_VMSTAT);
	snprintf(line, sizeof(line), "nr_free_pages %zu\n",
		 zone_facts(zone).free_pages);
	assert_int_equal(strncmp(text, line, strlen(line)), 0);
	assert_non_null(strstr(text, "\npages_managed 16384\n"));
	assert_non_null(strstr(text, "\nzone_lock_takes "));
	assert_null(strstr(text, "span_alloc"));
	zone_done(zone, 0);
}

/* As snprintf: the length of all of it, whatever fits, closed with 0. */
static void short_buffers(void **state)
{
	struct quire_zone *zone = zone_of_numbers((size_t)64 << 20);
	char small[10];
	int n;

	(void)state;
	for (int what = QUIRE_ZONE_BUDDYINFO; what <= QUIRE_ZONE_PAGETYPEINFO;
	     what++) {
		n = quire_zone_print(zone, (enum quire_zone_text)what, text,
				     sizeof(text));
		assert_int_equal(quire_zone_print(zone,
						  (enum quire_zone_text)what,
						  NULL, 0),
				 n);
		memset(small, 'x', sizeof(small));
		assert_int_equal(quire_zone_print(zone,
						  (enum quire_zone_text)what,
						  small, sizeof(small)),
				 n);
		assert_int_equal(strlen(small), sizeof(small) - 1);
		assert_int_equal(memcmp(small, text, sizeof(small) - 1), 0);
	}
	assert_int_equal(quire_zone_print(zone, (enum quire_zone_text)99, text,
					  sizeof(text)),
			 -EINVAL);
	zone_done(zone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(buddyinfo),
		cmocka_unit_test(pagetypeinfo),
		cmocka_unit_test(short_buffers),
		cmocka_unit_test(zoneinfo_and_vmstat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
