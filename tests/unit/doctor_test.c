/* SPDX-License-Identifier: MIT */
/*
 * The doctor in surroundings that refuse things.
 *
 * Each case looks in a child that has first been put under a system call
 * filter, a resource limit or a tunable, and sends its report through a pipe.
 * Whatever is refused, every line must be there, in order, and nothing but a
 * machine on which no memory can be mapped may be called broken.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <quire/doctor.h>

#include "os/os.h"
#include "os/sim.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const char *const names[] = {
	"kernel",	  "glibc",	   "page_size",
	"address_bits",	  "clock",	   "cpus",
	"caches",	  "nodes",	   "mbind",
	"mmap",		  "madvise",	   "mremap",
	"populate",	  "thp",	   "thp_defrag",
	"thp_sizes",	  "hugetlb_2m",	   "hugetlb_1g",
	"limit",	  "rlimit_as",	   "rlimit_data",
	"rlimit_memlock", "max_map_count", "overcommit",
	"swap",		  "preload",	   "threads",
	"seccomp",	  "yama",	   "rseq",
	"membarrier",	  "io_uring",	   "pages",
};

#define NR_NAMES (sizeof(names) / sizeof(names[0]))

/* One report, "name|state|value|effect\n" for each line. */
static char report[32768];

static int send_fact(const struct quire_fact *fact, void *arg)
{
	FILE *to = arg;

	fprintf(to, "%s|%d|%s|%s\n", fact->name, fact->state, fact->value,
		fact->effect);
	return 0;
}

static int send_report(int fd)
{
	FILE *to = fdopen(fd, "w");
	int result = quire_doctor_each(send_fact, to);

	return fclose(to) || result;
}

static void read_report(int fd)
{
	size_t have = 0;
	ssize_t got;

	while ((got = read(fd, report + have, sizeof(report) - 1 - have)) > 0)
		have += (size_t)got;
	report[have] = 0;
	close(fd);
}

/* Run @prepare and then the doctor in a child; its exit must be 0. */
static void doctor_after(void (*prepare)(void))
{
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(ends[0]);
		if (prepare)
			prepare();
		_exit(send_report(ends[1]));
	}
	close(ends[1]);
	read_report(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static const char *line_of(const char *name)
{
	static char line[1024];
	size_t len = strlen(name);

	for (const char *at = report; *at; at = strchr(at, '\n') + 1) {
		if (strncmp(at, name, len) || at[len] != '|')
			continue;
		snprintf(line, sizeof(line), "%.*s",
			 (int)(strchr(at, '\n') - at), at);
		return line;
	}
	return "";
}

/* All lines, in the order of the list, each with a value and an effect */
static void all_lines(void)
{
	char *at = report;

	for (size_t i = 0; i < NR_NAMES; i++) {
		char name[32], value[512], effect[512];
		int state, n = 0;

		assert_int_equal(sscanf(at, "%31[^|]|%d|%511[^|]|%511[^\n]%n",
					name, &state, value, effect, &n),
				 4);
		assert_string_equal(name, names[i]);
		assert_in_range(state, QUIRE_FACT_GOOD, QUIRE_FACT_BROKEN);
		at += n + 1;
	}
	assert_int_equal(*at, 0);
}

static void nothing_broken(void)
{
	char broken[8];

	snprintf(broken, sizeof(broken), "|%d|", QUIRE_FACT_BROKEN);
	for (size_t i = 0; i < NR_NAMES; i++)
		assert_null(strstr(line_of(names[i]), broken));
}

static void says(const char *name, const char *words)
{
	if (!strstr(line_of(name), words))
		fail_msg("no \"%s\" in: %s", words, line_of(name));
}

static void has_state(const char *name, enum quire_fact_state state)
{
	char text[8];

	snprintf(text, sizeof(text), "|%d|", state);
	says(name, text);
}

/* A filter that refuses some calls, as a container's does */

#define REFUSE(nr, error)                                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

#define LOAD(field)                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

static void install(struct sock_filter *filter, size_t nr)
{
	struct sock_fprog program = { (unsigned short)nr, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

static void refuse_with(int error)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		REFUSE(SYS_mbind, error),
		REFUSE(SYS_set_mempolicy, error),
		REFUSE(SYS_move_pages, error),
		REFUSE(SYS_membarrier, error),
		REFUSE(SYS_io_uring_setup, error),
		REFUSE(SYS_rseq, error),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		LOAD(args[2]),
		REFUSE(23 /* MADV_POPULATE_WRITE */, EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, sizeof(filter) / sizeof(filter[0]));
}

static void refuse_eperm(void)
{
	refuse_with(EPERM);
}

static void refuse_enosys(void)
{
	refuse_with(ENOSYS);
}

static void refuse_memory_calls(void)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		REFUSE(SYS_madvise, EPERM),
		REFUSE(SYS_mremap, EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, sizeof(filter) / sizeof(filter[0]));
}

static void as_it_is(void **state)
{
	(void)state;
	doctor_after(NULL);
	all_lines();
	nothing_broken();
}

static int stop_at_third(const struct quire_fact *fact, void *arg)
{
	(void)fact;
	return ++*(int *)arg == 3 ? -77 : 0;
}

static void callback_decides(void **state)
{
	int calls = 0;

	(void)state;
	errno = 1234;
	assert_int_equal(quire_doctor_each(NULL, NULL), -EINVAL);
	assert_int_equal(quire_doctor_each(stop_at_third, &calls), -77);
	assert_int_equal(calls, 3);
	assert_int_equal(errno, 1234);
}

/* Rows E1, E2, E7, P15 */
static void calls_refused(const char *error)
{
	char words[32];

	all_lines();
	nothing_broken();
	snprintf(words, sizeof(words), "refused: %s", error);
	says("mbind", words);
	says("membarrier", words);
	says("io_uring", words);
	says("populate", "refused: EINVAL");
	says("madvise", "works");
	says("seccomp", "a filter is in force");
	has_state("mbind", QUIRE_FACT_INFO);
	has_state("io_uring", QUIRE_FACT_INFO);
}

static void e1_e2_e7_eperm(void **state)
{
	(void)state;
	doctor_after(refuse_eperm);
	calls_refused("EPERM");
}

static void e1_e2_e7_enosys(void **state)
{
	(void)state;
	doctor_after(refuse_enosys);
	calls_refused("ENOSYS");
}

static void memory_calls_refused(void **state)
{
	(void)state;
	doctor_after(refuse_memory_calls);
	all_lines();
	nothing_broken();
	says("madvise", "refused: EPERM");
	says("mremap", "refused: EPERM");
	says("thp", "madvise refused: EPERM");
	has_state("madvise", QUIRE_FACT_FALLBACK);
	has_state("mremap", QUIRE_FACT_FALLBACK);
}

/* Row P10: off by tunable, with and without the kernel's consent */

static void run_without_rseq(const char *what, void (*prepare)(void))
{
	int ends[2], status;
	char fd[16];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(ends[0]);
		snprintf(fd, sizeof(fd), "%d", ends[1]);
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		if (prepare)
			prepare();
		execl("/proc/self/exe", "doctor", what, fd, NULL);
		_exit(78);
	}
	close(ends[1]);
	read_report(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	all_lines();
	nothing_broken();
	has_state("rseq", QUIRE_FACT_INFO);
}

static void p10_rseq_off(void **state)
{
	(void)state;
	run_without_rseq("--report", NULL);
	says("rseq", "off by GLIBC_TUNABLES");
	run_without_rseq("--report", refuse_eperm);
	says("rseq", "refused: EPERM");
}

static void p10_rseq_of_another(void **state)
{
	(void)state;
	run_without_rseq("--register", NULL);
	says("rseq", "registered, but not by glibc");
}

/* In the child of the above: what another library might have done. */
static int register_and_report(int fd)
{
	static _Alignas(32) char area[32];

	if (syscall(SYS_rseq, area, sizeof(area), 0, 0x12345678))
		return 79;
	return send_report(fd);
}

/* Rows E3, E5 */

static void limit_to(int which, rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(which, &limit))
		_exit(76);
}

static void memlock_64k(void)
{
	limit_to(RLIMIT_MEMLOCK, 64 << 10);
}

static void address_space_2g(void)
{
	limit_to(RLIMIT_AS, (rlim_t)2 << 30);
}

static void data_1g(void)
{
	limit_to(RLIMIT_DATA, (rlim_t)1 << 30);
}

static void no_memory_at_all(void)
{
	limit_to(RLIMIT_AS, 1);
}

static void e3_memlock(void **state)
{
	(void)state;
	doctor_after(memlock_64k);
	all_lines();
	nothing_broken();
	says("rlimit_memlock", "64 KiB");
}

static void e5_address_space(void **state)
{
	(void)state;
	if (SANITIZED)
		skip(); /* its shadow alone is larger */
	doctor_after(data_1g);
	says("rlimit_data", "1.0 GiB");
	has_state("rlimit_data", QUIRE_FACT_FALLBACK);
	doctor_after(address_space_2g);
	all_lines();
	nothing_broken();
	says("rlimit_as", "2.0 GiB");
	has_state("rlimit_as", QUIRE_FACT_FALLBACK);
	doctor_after(no_memory_at_all);
	all_lines();
	has_state("mmap", QUIRE_FACT_BROKEN);
}

/* Machines made of files: rows E4, E5, E6 */

static void doctor_on_sim(void)
{
	doctor_after(NULL);
	sim_stop();
	all_lines();
	nothing_broken();
}

#define POOL "/sys/kernel/mm/hugepages/hugepages-"
#define THP  "/sys/kernel/mm/transparent_hugepage/"

static void no_files_at_all(void **state)
{
	(void)state;
	sim_start();
	doctor_on_sim();
	says("limit", "unknown");
	has_state("limit", QUIRE_FACT_FALLBACK);
	says("hugetlb_2m", "not there");
	says("thp", "not there");
	says("seccomp", "unknown");
}

static void e4_pools(void **state)
{
	(void)state;
	sim_start();
	sim_file_set(POOL "2048kB/nr_hugepages", "0\n");
	sim_file_set(POOL "2048kB/free_hugepages", "0\n");
	sim_file_set(POOL "1048576kB/nr_hugepages", "4\n");
	sim_file_set(POOL "1048576kB/free_hugepages", "1\n");
	doctor_on_sim();
	says("hugetlb_2m", "0 free of 0|empty, no effect");
	says("hugetlb_1g", "1 free of 4|no effect");
	has_state("hugetlb_2m", QUIRE_FACT_INFO);
}

static void e5_strict_commit(void **state)
{
	(void)state;
	sim_start();
	sim_file_set("/proc/sys/vm/overcommit_memory", "2\n");
	sim_file_set("/proc/meminfo",
		     "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n"
		     "SwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n"
		     "CommitLimit: 4194304 kB\nCommitted_AS: 3145728 kB\n");
	doctor_on_sim();
	says("overcommit", "2, strict, 1.0 GiB left");
	has_state("overcommit", QUIRE_FACT_FALLBACK);
	says("swap", "1.0 GiB free of 2.0 GiB");
	says("limit", "4.0 GiB used of 8.0 GiB: machine");
	has_state("limit", QUIRE_FACT_GOOD);
}

static void nearly_full(void **state)
{
	(void)state;
	sim_start();
	sim_file_set("/proc/meminfo",
		     "MemTotal: 8388608 kB\nMemAvailable: 419430 kB\n");
	sim_file_set("/proc/sys/vm/max_map_count", "20\n");
	doctor_on_sim();
	has_state("limit", QUIRE_FACT_FALLBACK);
	has_state("max_map_count", QUIRE_FACT_FALLBACK);
}

static void e6_thp_modes(void **state)
{
	(void)state;
	sim_start();
	sim_file_set(THP "enabled", "always madvise [never]\n");
	sim_file_set(THP "defrag", "always defer [defer+madvise] never\n");
	sim_file_set(THP "hugepages-64kB/enabled",
		     "always [inherit] madvise never\n");
	doctor_on_sim();
	has_state("thp", QUIRE_FACT_FALLBACK);
	says("thp_defrag", "defer+madvise");
	says("thp_sizes", "64K inherit");
	sim_start();
	sim_file_set(THP "enabled", "[always] madvise never\n");
	doctor_on_sim();
	has_state("thp", QUIRE_FACT_GOOD);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_is),
		cmocka_unit_test(callback_decides),
		cmocka_unit_test(e1_e2_e7_eperm),
		cmocka_unit_test(e1_e2_e7_enosys),
		cmocka_unit_test(memory_calls_refused),
		cmocka_unit_test(p10_rseq_off),
		cmocka_unit_test(p10_rseq_of_another),
		cmocka_unit_test(e3_memlock),
		cmocka_unit_test(no_files_at_all),
		cmocka_unit_test(e4_pools),
		cmocka_unit_test(e5_strict_commit),
		cmocka_unit_test(nearly_full),
		cmocka_unit_test(e6_thp_modes),
		cmocka_unit_test(e5_address_space),
	};

	if (argc == 3 && !strcmp(argv[1], "--report"))
		return send_report(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "--register"))
		return register_and_report(atoi(argv[2]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
