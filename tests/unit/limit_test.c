/* SPDX-License-Identifier: MIT */
/*
 * The tightest memory limit, on machines that exist only as files: every kind
 * of control group tree, containers, and contents that make no sense.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "os/limit.h"
#include "os/sim.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define V1_MOUNT                                                               \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup "             \
	"cgroup rw,memory\n"
#define V2_MOUNT                                                               \
	"41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 "            \
	"cgroup2 rw,nsdelegate\n"
#define ROOT_MOUNT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

#define V1_NO_LIMIT "9223372036854771712\n"

/* 8 GiB, of which 2 are used: 75 % left */
static void machine(void)
{
	sim_file_set("/proc/meminfo", "MemTotal:        8388608 kB\n"
				      "MemFree:         1048576 kB\n"
				      "MemAvailable:    6291456 kB\n"
				      "Buffers:               0 kB\n");
}

static void v2(const char *group)
{
	machine();
	sim_file_set("/proc/self/cgroup", group);
	sim_file_set("/proc/self/mountinfo", ROOT_MOUNT V2_MOUNT);
}

static void v1(const char *group)
{
	machine();
	sim_file_set("/proc/self/cgroup", group);
	sim_file_set("/proc/self/mountinfo", ROOT_MOUNT V1_MOUNT);
}

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

static void expect(uint64_t limit, uint64_t used, const char *path)
{
	struct os_limit l;

	assert_int_equal(os_limit_tightest(&l), 0);
	assert_string_equal(l.path, path);
	assert_true(l.limit == limit);
	assert_true(l.used == used);
}

static void expect_machine(void)
{
	expect(8 * GIB, 2 * GIB, "machine");
}

static void nothing_readable(void **state)
{
	struct os_limit l = { .limit = 7, .used = 8, .path = "kept" };

	(void)state;
	assert_int_equal(os_limit_tightest(&l), -ENOENT);
	assert_true(l.limit == 7 && l.used == 8);
	assert_string_equal(l.path, "kept");
	sim_file_set("/proc/meminfo", NULL);
	sim_file_set("/proc/self/cgroup", NULL);
	sim_file_set("/proc/self/mountinfo", NULL);
	assert_int_equal(os_limit_tightest(&l), -ENOENT);
}

static void no_groups(void **state)
{
	(void)state;
	machine();
	expect_machine();
	sim_file_set("/proc/self/cgroup", "");
	expect_machine();
}

static void v2_max(void **state)
{
	struct os_limit l;

	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.high", "max\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "536870912\n");
	expect(GIB, 512 * MIB, "/sys/fs/cgroup/a");
	assert_int_equal(os_limit_tightest(&l), 0);
	assert_true(l.smallest == GIB);
}

/* The nearest to full and the smallest limit can be two different levels. */
static void smallest_is_another_level(void **state)
{
	struct os_limit l;

	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "4096\n");
	assert_int_equal(os_limit_tightest(&l), 0);
	assert_string_equal(l.path, "machine");
	assert_true(l.limit == 8 * GIB && l.smallest == GIB);
}

static void v2_unlimited(void **state)
{
	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "max\n");
	sim_file_set("/sys/fs/cgroup/a/memory.high", "max\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "7516192768\n");
	expect_machine();
}

static void v2_high_counts(void **state)
{
	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "max\n");
	sim_file_set("/sys/fs/cgroup/a/memory.high", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "536870912\n");
	expect(GIB, 512 * MIB, "/sys/fs/cgroup/a");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "805306368\n");
	expect(768 * MIB, 512 * MIB, "/sys/fs/cgroup/a");
}

static void tighter_ancestor(void **state)
{
	(void)state;
	v2("0::/a/b/c\n");
	sim_file_set("/sys/fs/cgroup/a/b/c/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/b/c/memory.current", "104857600\n");
	sim_file_set("/sys/fs/cgroup/a/b/memory.max", "max\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "2147483648\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "2040109466\n");
	expect(2 * GIB, 2040109466, "/sys/fs/cgroup/a");
	/* and where the leaf is the tighter one */
	sim_file_set("/sys/fs/cgroup/a/b/c/memory.current", "1073741824\n");
	expect(GIB, GIB, "/sys/fs/cgroup/a/b/c");
}

/* Row L8: file cache goes by itself, so it is not used memory. */
static void l8_full_of_file_cache(void **state)
{
	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.stat",
		     "anon 419430400\nfile 654311424\n"
		     "inactive_anon 1\nactive_anon 2\n"
		     "inactive_file 536870912\nactive_file 117440512\n");
	expect(GIB, 400 * MIB, "/sys/fs/cgroup/a");
	/* without a statistics file nothing can be taken off */
	sim_file_set("/sys/fs/cgroup/a/memory.stat", NULL);
	expect(GIB, GIB, "/sys/fs/cgroup/a");
}

static void l8_v1_uses_totals(void **state)
{
	(void)state;
	v1("4:memory:/a\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
		     "1073741824\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
		     "1073741824\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.stat",
		     "inactive_file 1\nactive_file 2\n"
		     "total_inactive_file 536870912\n"
		     "total_active_file 117440512\n");
	expect(GIB, 400 * MIB, "/sys/fs/cgroup/memory/a");
}

static void cache_not_read_when_far_from_full(void **state)
{
	unsigned int before;
	struct os_limit l;

	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "4096\n");
	sim_file_set("/sys/fs/cgroup/a/memory.stat", "active_file 4096\n");
	before = sim_reads();
	assert_int_equal(os_limit_tightest(&l), 0);
	/* meminfo, cgroup, mountinfo, a: max high current; root: max high */
	assert_int_equal(sim_reads() - before, 8);
}

static void v1_no_limit(void **state)
{
	(void)state;
	v1("5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n");
	sim_file_set("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
		     V1_NO_LIMIT);
	sim_file_set("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes",
		     "8589934592\n");
	sim_file_set("/sys/fs/cgroup/memory/memory.limit_in_bytes",
		     V1_NO_LIMIT);
	expect_machine();
	sim_file_set("/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
		     "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
		     "268435456\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup/memory/a");
}

static void v1_shared_hierarchy(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "3:cpuset,memory,pids:/a\n");
	sim_file_set("/proc/self/mountinfo",
		     "35 31 0:32 / /cg/all rw - cgroup cgroup "
		     "rw,cpuset,memory,pids\n");
	sim_file_set("/cg/all/a/memory.limit_in_bytes", "536870912\n");
	sim_file_set("/cg/all/a/memory.usage_in_bytes", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/cg/all/a");
}

/* memory_recursiveprot, memsw and the like must not pass for "memory" */
static void word_must_be_whole(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "3:memoryx,xmemory:/a\n");
	sim_file_set("/proc/self/mountinfo", V1_MOUNT);
	sim_file_set("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n");
	expect_machine();
}

/* Both versions mounted; memory belongs to version 1. */
static void hybrid(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "0::/u\n4:memory:/a\n1:name=x:/y\n");
	sim_file_set(
		"/proc/self/mountinfo", ROOT_MOUNT
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n"
		"36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup c rw,cpu\n" V1_MOUNT);
	sim_file_set("/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
		     "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
		     "268435456\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup/memory/a");
}

/* A container with a namespace of its own: the limit is at the mount. */
static void namespace_root(void **state)
{
	(void)state;
	v2("0::/\n");
	sim_file_set("/sys/fs/cgroup/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory.current", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup");
	/* moved out of the namespace's part of the tree */
	sim_file_set("/proc/self/cgroup", "0::/../other\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup");
	sim_file_set("/proc/self/cgroup", "0::/..\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup");
}

/* A container without one: the path is the host's, the mount only a part. */
static void bind_mounted_root(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "4:memory:/docker/abc/sub\n");
	sim_file_set("/proc/self/mountinfo",
		     "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro master:9 "
		     "- cgroup cgroup rw,memory\n");
	sim_file_set("/sys/fs/cgroup/memory/memory.limit_in_bytes",
		     "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory/memory.usage_in_bytes",
		     "201326592\n");
	sim_file_set("/sys/fs/cgroup/memory/sub/memory.limit_in_bytes",
		     "268435456\n");
	sim_file_set("/sys/fs/cgroup/memory/sub/memory.usage_in_bytes",
		     "134217728\n");
	expect(256 * MIB, 128 * MIB, "/sys/fs/cgroup/memory/sub");
	/* the same start of the name is not the same group */
	sim_file_set("/proc/self/cgroup", "4:memory:/docker/abcdef\n");
	expect(512 * MIB, 192 * MIB, "/sys/fs/cgroup/memory");
}

/* The host's path, which does not exist below the container's mount. */
static void path_not_there(void **state)
{
	(void)state;
	v2("0::/system.slice/gone.service (deleted)\n");
	sim_file_set("/sys/fs/cgroup/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory.current", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup");
}

static void widest_mount_wins(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "0::/a/b\n");
	sim_file_set("/proc/self/mountinfo",
		     "1 1 0:1 /other /mnt/other rw - cgroup2 c rw\n"
		     "2 1 0:1 /a /mnt/part rw - cgroup2 c rw\n"
		     "3 1 0:1 / /mnt/all rw - cgroup2 c rw\n"
		     "4 1 0:1 /a/b /mnt/leaf rw - cgroup2 c rw\n");
	sim_file_set("/mnt/all/a/memory.max", "536870912\n");
	sim_file_set("/mnt/all/a/memory.current", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/mnt/all/a");
}

static void escaped_mount(void **state)
{
	(void)state;
	machine();
	sim_file_set("/proc/self/cgroup", "0::/a b/c:d\n");
	sim_file_set("/proc/self/mountinfo",
		     "3 1 0:1 /a\\040b /mnt/with\\040blank\\134\\011 rw tag:1 "
		     "tag:2 - cgroup2 c rw\n");
	sim_file_set("/mnt/with blank\\\t/c:d/memory.max", "536870912\n");
	sim_file_set("/mnt/with blank\\\t/c:d/memory.current", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/mnt/with blank\\\t/c:d");
}

static void mounts_unreadable_or_too_many(void **state)
{
	static char many[20000];

	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "268435456\n");
	sim_file_set("/proc/self/mountinfo", NULL);
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup/a");
	many[0] = 0;
	for (size_t at = 0; at + 100 < sizeof(many); at = strlen(many))
		snprintf(many + at, 100, "%s", ROOT_MOUNT);
	strcat(many, V2_MOUNT);
	sim_file_set("/proc/self/mountinfo", many);
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup/a");
}

static void absurd_limits(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"abc\n",
		"-1\n",
		" 12\n",
		"12x\n",
		"0x1000\n",
		"99999999999999999999999999999999\n",
		"18446744073709551615\n",
		"maximum\n",
		"1 2\n",
	};

	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "268435456\n");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sim_file_set("/sys/fs/cgroup/a/memory.max", texts[i]);
		expect_machine();
	}
}

static void absurd_use(void **state)
{
	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "536870912\n");
	expect_machine(); /* not there */
	sim_file_set("/sys/fs/cgroup/a/memory.current", NULL);
	expect_machine();
	sim_file_set("/sys/fs/cgroup/a/memory.current", "many\n");
	expect_machine();
	/* more than the limit; a cache larger than the use, and one that
	 * overflows */
	sim_file_set("/sys/fs/cgroup/a/memory.current", "999999999999\n");
	expect(512 * MIB, 999999999999, "/sys/fs/cgroup/a");
	sim_file_set("/sys/fs/cgroup/a/memory.stat",
		     "active_file 18446744073709551615\ninactive_file 5\n");
	expect(512 * MIB, 999999999999, "/sys/fs/cgroup/a");
	sim_file_set("/sys/fs/cgroup/a/memory.stat",
		     "active_file 9999999999999\n");
	expect_machine();
}

static void limit_of_zero(void **state)
{
	(void)state;
	v2("0::/a/b\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "0\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "4096\n");
	sim_file_set("/sys/fs/cgroup/a/b/memory.max", "8192\n");
	sim_file_set("/sys/fs/cgroup/a/b/memory.current", "4096\n");
	expect(0, 4096, "/sys/fs/cgroup/a");
}

static void absurd_tables(void **state)
{
	static const char *const groups[] = {
		"\n",	      ":::\n",	       "0:\n",
		"0::\n",      "0::relative\n", "memory\n",
		"4:memory\n", "4:memory:\n",   "4:memory:x\n",
		"0",	      ":memory:",
	};
	static const char *const mounts[] = {
		"\n",
		"- cgroup2\n",
		"1 2 3 4 5 6\n",
		"1 2 3 4 5 6 -\n",
		"1 2 3 4 5 6 - cgroup2",
		"\\",
		"1 2 3 \\0 \\04 - - - -\n",
		"       \n",
	};

	(void)state;
	v2("");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		sim_file_set("/proc/self/cgroup", groups[i]);
		expect_machine();
	}
	sim_file_set("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		sim_file_set("/proc/self/mountinfo", mounts[i]);
		expect_machine();
	}
}

static void absurd_machine(void **state)
{
	static const char *const texts[] = {
		"",
		"MemTotal:\n",
		"MemTotal: 0 kB\nMemAvailable: 0 kB\n",
		"MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n",
		"MemTotal: 18014398509481984 kB\nMemAvailable: 1 kB\n",
		"MemTotal: 5 kB\nMemAvailable: 6 kB\n",
	};
	struct os_limit l;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sim_file_set("/proc/meminfo", texts[i]);
		assert_int_equal(os_limit_tightest(&l), -ENOENT);
	}
	/* the group alone is enough */
	sim_file_set("/proc/self/cgroup", "0::/\n");
	sim_file_set("/proc/self/mountinfo", V2_MOUNT);
	sim_file_set("/sys/fs/cgroup/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/memory.current", "268435456\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup");
}

/* Deep trees cost a bounded number of reads; long paths are cut, not lost. */
static void deep_and_long(void **state)
{
	static char group[900], cgroup[1000], file[1100], current[1100];
	struct os_limit l;
	unsigned int before;

	(void)state;
	for (int i = 0; i < 40; i++)
		strcat(group, "/0123456789abcdef");
	snprintf(cgroup, sizeof(cgroup), "0::%s\n", group);
	snprintf(file, sizeof(file), "/sys/fs/cgroup%s/memory.max", group);
	snprintf(current, sizeof(current), "/sys/fs/cgroup%s/memory.current",
		 group);
	v2(cgroup);
	sim_file_set(file, "536870912\n");
	sim_file_set(current, "268435456\n");
	before = sim_reads();
	assert_int_equal(os_limit_tightest(&l), 0);
	assert_true(sim_reads() - before < 80);
	assert_true(l.limit == 512 * MIB);
	assert_int_equal(strlen(l.path), sizeof(l.path) - 1);
}

/* Of a path too long for us the ancestors that fit are looked at. */
static void too_long(void **state)
{
	static char cgroup[5000];

	(void)state;
	memcpy(cgroup, "0::/", 4);
	memset(cgroup + 4, 'x', 4500);
	v2(cgroup);
	expect_machine();
	sim_file_set("/sys/fs/cgroup/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/memory.current", "536870912\n");
	expect(GIB, 512 * MIB, "/sys/fs/cgroup");
	memcpy(cgroup, "0::/a/b/", 8);
	sim_file_set("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/a/b/memory.current", "402653184\n");
	expect(512 * MIB, 384 * MIB, "/sys/fs/cgroup/a/b");
}

/* The process can be moved at any time, so nothing may be remembered. */
static void moved_between_looks(void **state)
{
	(void)state;
	v2("0::/a\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "536870912\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "268435456\n");
	sim_file_set("/sys/fs/cgroup/b/memory.max", "1073741824\n");
	sim_file_set("/sys/fs/cgroup/b/memory.current", "1073741824\n");
	expect(512 * MIB, 256 * MIB, "/sys/fs/cgroup/a");
	sim_file_set("/proc/self/cgroup", "0::/b\n");
	expect(GIB, GIB, "/sys/fs/cgroup/b");
}

static void on_this_machine(void **state)
{
	struct os_limit l;

	(void)state;
	sim_stop();
	assert_int_equal(os_limit_tightest(&l), 0);
	assert_true(l.limit > 0 && l.smallest <= l.limit);
	assert_true(l.path[0]);
}

static void clock_of_the_test(void **state)
{
	(void)state;
	assert_int_equal(os->now_ms(), 0);
	sim_advance_ms(10000);
	assert_int_equal(os->now_ms(), 10000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_readable),
		T(no_groups),
		T(v2_max),
		T(smallest_is_another_level),
		T(v2_unlimited),
		T(v2_high_counts),
		T(tighter_ancestor),
		T(l8_full_of_file_cache),
		T(l8_v1_uses_totals),
		T(cache_not_read_when_far_from_full),
		T(v1_no_limit),
		T(v1_shared_hierarchy),
		T(word_must_be_whole),
		T(hybrid),
		T(namespace_root),
		T(bind_mounted_root),
		T(path_not_there),
		T(widest_mount_wins),
		T(escaped_mount),
		T(mounts_unreadable_or_too_many),
		T(absurd_limits),
		T(absurd_use),
		T(limit_of_zero),
		T(absurd_tables),
		T(absurd_machine),
		T(deep_and_long),
		T(too_long),
		T(moved_between_looks),
		T(on_this_machine),
		T(clock_of_the_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
