/* SPDX-License-Identifier: MIT */
/* Counters as text, and records that are whole, cut, foreign, half-written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quire/quire.h>

#include "base/atomic.h"
#include "os/self.h"
#include "stat/page.h"

static char dir[64];
static char path[128];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/quire-stat-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/%d", dir, (int)getpid());
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	stat_page_close();
	unlink(path);
	return rmdir(dir);
}

static void counters_have_names(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++) {
		const struct quire_counter_info *info = quire_counter_info(i);

		assert_non_null(info);
		assert_true(strlen(info->name) && strlen(info->help));
		assert_true(strlen(info->unit));
	}
	assert_null(quire_counter_info(QUIRE_NR_COUNTERS));
	assert_null(quire_counter_info(UINT32_MAX));
	assert_string_equal(
		quire_counter_info(QUIRE_COUNTER_bytes_kept_peak)->name,
		"bytes_kept_peak");
	assert_int_equal(
		quire_counter_info(QUIRE_COUNTER_bytes_kept_peak)->kind,
		QUIRE_KIND_PEAK);
}

static void version_agrees_with_header(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", QUIRE_VERSION_MAJOR,
		 QUIRE_VERSION_MINOR, QUIRE_VERSION_PATCH);
	assert_string_equal(quire_version(), text);
	assert_string_equal(quire_version(), QUIRE_VERSION);
}

typedef int (*print_fn)(const struct quire_process *, char *, size_t);

/* The text is cut anywhere, and always closed. */
static void check_lengths(print_fn print, const struct quire_process *p)
{
	int whole = print(p, NULL, 0);
	char *all = malloc((size_t)whole + 1);

	assert_int_equal(print(p, all, (size_t)whole + 1), whole);
	assert_int_equal(strlen(all), whole);
	for (int len = 1; len <= whole; len++) {
		char *part = malloc((size_t)len);

		assert_int_equal(print(p, part, (size_t)len), whole);
		assert_int_equal(strlen(part), len - 1);
		assert_memory_equal(part, all, len - 1);
		free(part);
	}
	free(all);
}

static void printing_keeps_the_length_contract(void **state)
{
	struct quire_process p = { .size = sizeof(p) };

	(void)state;
	check_lengths(quire_process_text, &p);
	check_lengths(quire_process_json, &p);
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++)
		p.counter[i] = i % 3 ? UINT64_MAX - i : i;
	check_lengths(quire_process_text, &p);
	check_lengths(quire_process_json, &p);
}

static void text_leaves_zeros_out(void **state)
{
	struct quire_process p = { .size = sizeof(p) };
	char text[256];

	(void)state;
	assert_int_equal(quire_process_text(&p, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	p.counter[QUIRE_COUNTER_span_alloc] = 7;
	p.counter[QUIRE_COUNTER_bytes_live] = UINT64_MAX;
	quire_process_text(&p, text, sizeof(text));
	assert_string_equal(text, "span_alloc 7 blocks\n"
				  "bytes_live 18446744073709551615 bytes\n");
}

static void json_has_every_counter(void **state)
{
	struct quire_process p = { .size = sizeof(p) };
	char text[4096], key[128];

	(void)state;
	p.counter[QUIRE_COUNTER_span_hit] = 12;
	quire_process_json(&p, text, sizeof(text));
	assert_true(text[0] == '{' && text[strlen(text) - 1] == '}');
	assert_non_null(strstr(text, "\"span_hit\":12,"));
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++) {
		snprintf(key, sizeof(key),
			 "\"%s\":", quire_counter_info(i)->name);
		assert_non_null(strstr(text, key));
	}
}

static void wrong_arguments_are_codes(void **state)
{
	struct quire_process p = { .size = sizeof(p) };

	(void)state;
	assert_int_equal(quire_process_read(NULL, &p), -EINVAL);
	assert_int_equal(quire_process_read("/", NULL), -EINVAL);
	assert_int_equal(quire_process_text(NULL, NULL, 0), -EINVAL);
	assert_int_equal(quire_process_text(&p, NULL, 1), -EINVAL);
	p.size = 8;
	assert_int_equal(quire_process_read("/", &p), -EINVAL);
	assert_int_equal(quire_process_text(&p, NULL, 0), -EINVAL);
	assert_int_equal(quire_process_json(&p, NULL, 0), -EINVAL);
}

static struct quire_process read_one(const char *name)
{
	struct quire_process p = { .size = sizeof(p) };

	assert_int_equal(quire_process_read(name, &p), 0);
	return p;
}

static void record_tells_what_was_written(void **state)
{
	uint64_t counter[QUIRE_NR_COUNTERS];
	struct quire_process p;

	(void)state;
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] = i * 1000003ull << 20;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), -EALREADY);
	stat_page_sources("/lib/a.so", NULL);
	stat_page_sources(NULL, "/lib/b.so");
	p = read_one(path);
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.parent, getppid());
	assert_int_equal(p.loaded, QUIRE_LOADED_STAMP);
	assert_int_equal(p.ended, 0);
	assert_true(p.start_ns && p.start_ns <= self_now_ns());
	assert_string_equal(p.malloc_from, "/lib/a.so");
	assert_string_equal(p.next_from, "/lib/b.so");
	stat_page_publish(counter);
	p = read_one(path);
	assert_memory_equal(p.counter, counter, sizeof(counter));
	assert_true(p.threads_peak >= 1);
	assert_int_equal(p.ended, 0);
	stat_page_end(NULL);
	p = read_one(path);
	assert_memory_equal(p.counter, counter, sizeof(counter));
	assert_int_equal(p.ended, 1);
	assert_true(p.last_user_ns > p.start_ns);
	assert_true(p.rss_end && p.rss_peak >= p.rss_end / 2);
}

/* A second library of the same process: another mapping of the same file. */
static void libraries_share_one_record(void **state)
{
	uint64_t start;

	(void)state;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_PRELOAD), 0);
	stat_page_sources("first", NULL);
	start = read_one(path).start_ns;
	stat_page_close();
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_RECORD), 0);
	assert_int_equal(read_one(path).loaded,
			 QUIRE_LOADED_PRELOAD | QUIRE_LOADED_RECORD);
	assert_int_equal(read_one(path).start_ns, start);
	assert_string_equal(read_one(path).malloc_from, "first");
}

static void put_file(const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static size_t get_file(unsigned char *bytes, size_t len)
{
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, bytes, len);

	close(fd);
	assert_true(got >= 0);
	return (size_t)got;
}

static int read_code(void)
{
	struct quire_process p = { .size = sizeof(p), .pid = 4711 };
	int error = quire_process_read(path, &p);

	if (error) /* written on success only */
		assert_int_equal(p.pid, 4711);
	return error;
}

static void cut_and_foreign_files_are_refused(void **state)
{
	unsigned char good[STAT_PAGE_SIZE], bad[3 * STAT_PAGE_SIZE];

	(void)state;
	assert_int_equal(read_code(), -ENOENT);
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	assert_int_equal(get_file(good, sizeof(good)), STAT_PAGE_SIZE);
	stat_page_close();
	for (size_t len = 0; len < STAT_PAGE_SIZE; len += 37) {
		put_file(good, len);
		assert_int_equal(read_code(), -EBADMSG);
	}
	memset(bad, 0, sizeof(bad));
	memcpy(bad, good, sizeof(good));
	put_file(bad, STAT_PAGE_SIZE + 1);
	assert_int_equal(read_code(), -EBADMSG);
	put_file(bad, sizeof(bad));
	assert_int_equal(read_code(), -EBADMSG);
	memset(bad, 0, sizeof(bad));
	put_file(bad, STAT_PAGE_SIZE);
	assert_int_equal(read_code(), -EBADMSG);
	memset(bad, 'x', sizeof(bad));
	put_file(bad, STAT_PAGE_SIZE);
	assert_int_equal(read_code(), -EBADMSG);
	put_file(good, STAT_PAGE_SIZE);
	assert_int_equal(read_code(), 0);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(read_code() < 0);
	rmdir(path);
}

/* Any single byte wrong: an answer or -EBADMSG, strings closed, no crash. */
static void damaged_files_do_no_harm(void **state)
{
	unsigned char good[STAT_PAGE_SIZE], bad[STAT_PAGE_SIZE];
	struct quire_process p;

	(void)state;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	stat_page_end(NULL);
	get_file(good, sizeof(good));
	for (size_t i = 0; i < sizeof(good); i++) {
		memcpy(bad, good, sizeof(good));
		bad[i] ^= 0xff;
		memset(&p, 0xff, sizeof(p));
		if (!stat_page_parse(bad, sizeof(bad), &p))
			assert_true(strlen(p.exe) < sizeof(p.exe) &&
				    strlen(p.next_from) < sizeof(p.next_from));
	}
	memset(bad, 0xff, sizeof(bad));
	memcpy(bad, good, 40);
	if (!stat_page_parse(bad, sizeof(bad), &p)) {
		assert_int_equal(strlen(p.exe), sizeof(p.exe) - 1);
		assert_int_equal(strlen(p.malloc_from),
				 sizeof(p.malloc_from) - 1);
	}
}

/* The sequence word: found by looking at what a write changes. */
static void half_written_files_are_refused(void **state)
{
	unsigned char one[STAT_PAGE_SIZE], two[STAT_PAGE_SIZE];
	size_t at = 0;

	(void)state;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	get_file(one, sizeof(one));
	stat_page_sources(NULL, NULL);
	get_file(two, sizeof(two));
	stat_page_close();
	while (at < sizeof(one) && one[at] == two[at])
		at++;
	assert_true(at < sizeof(one));
	two[at] |= 1;
	put_file(two, sizeof(two));
	assert_int_equal(read_code(), -EBADMSG);
	/* A writer gets past what another left half-written. */
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_RECORD), 0);
	assert_int_equal(read_code(), 0);
	assert_int_equal(read_one(path).loaded,
			 QUIRE_LOADED_STAMP | QUIRE_LOADED_RECORD);
}

/* The pid was another process's before, or garbage lies there. */
static void stale_files_are_cleared(void **state)
{
	unsigned char bytes[STAT_PAGE_SIZE];
	uint64_t counter[QUIRE_NR_COUNTERS] = { 5, 5, 5 };

	(void)state;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_PRELOAD), 0);
	stat_page_end(counter);
	stat_page_close();
	get_file(bytes, sizeof(bytes));
	bytes[24] ^= 1; /* image */
	put_file(bytes, sizeof(bytes));
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	assert_int_equal(read_one(path).loaded, QUIRE_LOADED_STAMP);
	assert_int_equal(read_one(path).ended, 0);
	assert_int_equal(read_one(path).counter[0], 0);
	stat_page_close();
	put_file("garbage", 7);
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	assert_int_equal(read_one(path).pid, getpid());
	stat_page_close();
	memset(bytes, 0xff, sizeof(bytes));
	put_file(bytes, sizeof(bytes));
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	assert_int_equal(read_one(path).pid, getpid());
}

static void refusals_are_codes_and_leave_nothing(void **state)
{
	char long_dir[5000];

	(void)state;
	memset(long_dir, 'a', sizeof(long_dir) - 1);
	long_dir[0] = '/';
	long_dir[sizeof(long_dir) - 1] = 0;
	assert_int_equal(stat_page_open(long_dir, 1), -ENAMETOOLONG);
	assert_int_equal(stat_page_open("/nowhere/at/all", 1), -ENOENT);
	assert_int_equal(symlink("/tmp/quire-must-not-exist", path), 0);
	assert_int_equal(stat_page_open(dir, 1), -ELOOP);
	assert_int_equal(access("/tmp/quire-must-not-exist", F_OK), -1);
	stat_page_publish(NULL);
	stat_page_sources("x", "y");
	stat_page_child();
	stat_page_end(NULL);
}

static void in_child(bool told)
{
	uint64_t counter[QUIRE_NR_COUNTERS] = { 9 };

	if (told)
		stat_page_child();
	stat_page_end(counter);
	_exit(0);
}

static void check_child(bool told)
{
	struct quire_process parent, child;
	char name[128];
	pid_t pid;

	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	stat_page_sources("from", "next");
	pid = fork();
	if (!pid)
		in_child(told);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(name, sizeof(name), "%s/%d", dir, (int)pid);
	child = read_one(name);
	parent = read_one(path);
	unlink(name);
	assert_int_equal(child.pid, pid);
	assert_int_equal(child.parent, getpid());
	assert_int_equal(child.ended, 1);
	assert_int_equal(child.counter[0], 9);
	assert_string_equal(child.malloc_from, "from");
	assert_string_equal(child.next_from, "next");
	assert_true(child.start_ns > parent.start_ns);
	assert_int_equal(parent.ended, 0);
	assert_int_equal(parent.counter[0], 0);
}

static void a_child_has_its_own_record(void **state)
{
	(void)state;
	check_child(true);
}

static void a_child_nobody_told_of_has_its_own_record(void **state)
{
	(void)state;
	check_child(false);
}

/* The thread sanitizer makes a fork of it. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VFORK_IS_FORK 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define VFORK_IS_FORK 1
#endif
#ifndef VFORK_IS_FORK
#define VFORK_IS_FORK 0
#endif

static void a_vfork_child_writes_nothing(void **state)
{
	pid_t pid;

	(void)state;
	if (VFORK_IS_FORK)
		skip();
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	pid = vfork();
	if (!pid) {
		stat_page_end(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(read_one(path).ended, 0);
}

static uint32_t stop;

/* All counters alike: a reader must never see two values. */
static void *publish_for_ever(void *arg)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	for (uint64_t n = (uintptr_t)arg; !load_relaxed(&stop); n++) {
		for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++)
			counter[i] = n;
		stat_page_publish(counter);
	}
	return NULL;
}

static void readers_see_whole_records(void **state)
{
	pthread_t thread[2];
	int good = 0;

	(void)state;
	assert_int_equal(stat_page_open(dir, QUIRE_LOADED_STAMP), 0);
	store_relaxed(&stop, 0);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, publish_for_ever,
			       (void *)(i << 32));
	for (int i = 0; i < 2000; i++) {
		struct quire_process p = { .size = sizeof(p) };

		if (quire_process_read(path, &p))
			continue;
		good++;
		for (unsigned int c = 1; c < QUIRE_NR_COUNTERS; c++)
			assert_int_equal(p.counter[c], p.counter[0]);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_true(good > 1900);
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, drop_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_have_names),
		cmocka_unit_test(version_agrees_with_header),
		cmocka_unit_test(printing_keeps_the_length_contract),
		cmocka_unit_test(text_leaves_zeros_out),
		cmocka_unit_test(json_has_every_counter),
		cmocka_unit_test(wrong_arguments_are_codes),
		WITH_DIR(record_tells_what_was_written),
		WITH_DIR(libraries_share_one_record),
		WITH_DIR(cut_and_foreign_files_are_refused),
		WITH_DIR(damaged_files_do_no_harm),
		WITH_DIR(half_written_files_are_refused),
		WITH_DIR(stale_files_are_cleared),
		WITH_DIR(refusals_are_codes_and_leave_nothing),
		WITH_DIR(a_child_has_its_own_record),
		WITH_DIR(a_child_nobody_told_of_has_its_own_record),
		WITH_DIR(a_vfork_child_writes_nothing),
		WITH_DIR(readers_see_whole_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
