/* SPDX-License-Identifier: MIT */
/* Lists of CPUs as the kernel prints them, and machines made of files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "os/probe.h"
#include "os/sim.h"
#include "os/topology.h"

#define CPU  "/sys/devices/system/cpu/"
#define NODE "/sys/devices/system/node/"

static int setup(void **state)
{
	(void)state;
	sim_start();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_stop();
	return 0;
}

static void good_list(const char *text, unsigned int nr, unsigned int end,
		      const char *printed)
{
	struct os_ids ids;
	char out[64];

	assert_int_equal(os_ids_parse(text, &ids), 0);
	assert_int_equal(ids.nr, nr);
	assert_int_equal(ids.end, end);
	os_ids_print(&ids, out, sizeof(out));
	assert_string_equal(out, printed);
}

static void lists(void **state)
{
	(void)state;
	good_list("", 0, 0, "");
	good_list("\n", 0, 0, "");
	good_list("0", 1, 1, "0");
	good_list("0\n", 1, 1, "0");
	good_list("0-3,8,10-11\n", 7, 12, "0-3,8,10-11");
	good_list("63-64", 2, 65, "63-64");
	good_list("5-5", 1, 6, "5");
	good_list("3,1,2\n", 3, 4, "1-3");
	good_list("0-3,2-5,4\n", 6, 6, "0-5");
	good_list("0-8191\n", 8192, 8192, "0-8191");
	good_list("007", 1, 8, "7");
}

static void bad_list(const char *text, int error)
{
	struct os_ids ids = { .nr = 42 };

	assert_int_equal(os_ids_parse(text, &ids), error);
	assert_int_equal(ids.nr, 42);
}

static void bad_lists(void **state)
{
	static const char *const texts[] = {
		",",  "0,",   ",0",    "0,,1", "-",	"-1",
		"1-", "1--2", "3-1",   "a",    "0x1",	"0-3 ",
		" 0", "0;1",  "0-3-5", "0\n1", "0\n\n", "0-3:1/2",
		"+1", "\n0",  "1.5",   "0-a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bad_list(texts[i], -EINVAL);
	bad_list("8192", -ERANGE);
	bad_list("0-8192", -ERANGE);
	bad_list("4294967296", -ERANGE);
	bad_list("99999999999999999999999999", -ERANGE);
	bad_list("0,1,18446744073709551616\n", -ERANGE);
}

static void print_cut(void **state)
{
	struct os_ids ids;
	char out[12] = "untouched";

	(void)state;
	assert_int_equal(os_ids_parse("0,2,4,6,8,10,12", &ids), 0);
	os_ids_print(&ids, out, 0);
	assert_string_equal(out, "untouched");
	os_ids_print(&ids, out, 1);
	assert_string_equal(out, "");
	os_ids_print(&ids, out, 3);
	assert_string_equal(out, "");
	os_ids_print(&ids, out, sizeof(out));
	assert_string_equal(out, "0,2,4,6...");
}

static void has(void **state)
{
	struct os_ids ids;

	(void)state;
	assert_int_equal(os_ids_parse("0,64,8191", &ids), 0);
	assert_true(os_ids_has(&ids, 0) && os_ids_has(&ids, 64));
	assert_true(os_ids_has(&ids, 8191));
	assert_false(os_ids_has(&ids, 1) || os_ids_has(&ids, 8192));
	assert_false(os_ids_has(&ids, 4294967295u));
}

/* Row P9: many possible, few allowed. */
static void from_files(void **state)
{
	struct os_topology t;

	(void)state;
	sim_file_set(CPU "possible", "0-255\n");
	sim_file_set(CPU "online", "0-3,200\n");
	sim_file_set(NODE "online", "0,2\n");
	os_topology_read(&t);
	assert_true(t.cpus_known && t.nodes_known);
	assert_int_equal(t.possible.nr, 256);
	assert_int_equal(t.online.nr, 5);
	assert_int_equal(t.online.end, 201);
	assert_int_equal(t.nodes.nr, 2);
	assert_true(t.allowed.nr >= 1);
}

static void guessed(void **state)
{
	static const char *const texts[] = { NULL, "", "\n", "all\n", "0-\n" };
	struct os_topology t;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sim_file_set(CPU "possible", texts[i]);
		sim_file_set(CPU "online", texts[i]);
		sim_file_set(NODE "online", texts[i]);
		os_topology_read(&t);
		assert_false(t.cpus_known || t.nodes_known);
		assert_true(t.allowed.nr >= 1);
		assert_int_equal(t.possible.nr, t.allowed.nr);
		assert_int_equal(t.online.end, t.allowed.end);
		assert_int_equal(t.nodes.nr, 1);
		assert_true(os_ids_has(&t.nodes, 0));
	}
}

static void on_this_machine(void **state)
{
	struct os_cache caches[8];
	struct os_topology t;
	int nr;

	(void)state;
	sim_stop();
	os_topology_read(&t);
	assert_true(t.allowed.nr >= 1 && t.possible.nr >= t.allowed.nr);
	nr = os_caches_read(caches, 8);
	assert_true((nr > 0 && nr <= 8) || nr == -ENOSYS || nr == -ENODATA);
	for (int i = 0; i < nr; i++)
		assert_true(caches[i].level >= 1 && caches[i].size > 0);
	assert_true(os_caches_read(caches, 0) <= 0);
}

static void versions(void **state)
{
	(void)state;
	assert_true(os_version_at_least("5.14", 5, 14));
	assert_true(os_version_at_least("5.14.0-1-amd64", 5, 14));
	assert_true(os_version_at_least("6.1", 5, 14));
	assert_true(os_version_at_least("6", 5, 14));
	assert_true(os_version_at_least("2.35.1", 2, 35));
	assert_false(os_version_at_least("5.4.280", 5, 14));
	assert_false(os_version_at_least("4.19", 5, 14));
	assert_false(os_version_at_least("5", 5, 14));
	assert_false(os_version_at_least("", 5, 14));
	assert_false(os_version_at_least("next", 5, 14));
}

static void file_helpers(void **state)
{
	char text[32];
	uint64_t n = 7;

	(void)state;
	sim_file_set("/thp", "always [madvise] never\n");
	assert_int_equal(os_file_choice("/thp", text, sizeof(text)), 7);
	assert_string_equal(text, "madvise");
	sim_file_set("/thp", "odd [text\nmore");
	assert_int_equal(os_file_choice("/thp", text, sizeof(text)), 9);
	assert_string_equal(text, "odd [text");
	assert_int_equal(os_file_choice("/none", text, sizeof(text)), -ENOENT);
	sim_file_set("/n", "x\n");
	assert_int_equal(os_file_number("/n", &n), -EINVAL);
	sim_file_set("/n", "18446744073709551616\n");
	assert_int_equal(os_file_number("/n", &n), -ERANGE);
	assert_true(n == 7);
	sim_file_set("/n", "65530\n");
	assert_int_equal(os_file_number("/n", &n), 0);
	assert_true(n == 65530);
	sim_file_set("/s", "\n\nXThreads:\t9\nThreads:\t3\nSeccomp:\t\n");
	assert_int_equal(os_file_field("/s", "Threads:", &n), 0);
	assert_true(n == 3);
	assert_int_equal(os_file_field("/s", "Seccomp:", &n), -EINVAL);
	assert_int_equal(os_file_field("/s", "Missing:", &n), -ENODATA);
	assert_true(os_file_lines("/proc/self/maps") > 0);
	assert_int_equal(os_file_lines("/proc/none"), -ENOENT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(lists),	 T(bad_lists), T(print_cut),	   T(has),
		T(from_files),	 T(guessed),   T(on_this_machine), T(versions),
		T(file_helpers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
