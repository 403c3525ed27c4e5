/* SPDX-License-Identifier: MIT */
/*
 * The machine that a result was made on, and what a page fault costs there.
 */
#include "machine.h"

#include <gnu/libc-version.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PROBE_BYTES = 64 << 20,
	PROBE_PAGE = 4096,
	PROBE_ROUNDS = 3,
};

static void look_at_cpu(struct machine *m)
{
	char line[256];
	char *value;
	FILE *f = fopen("/proc/cpuinfo", "re");

	snprintf(m->cpu, sizeof(m->cpu), "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		value = strchr(line, ':');
		if (!value || strncmp(line, "model name", 10) != 0)
			continue;
		value[strcspn(value, "\n")] = '\0';
		snprintf(m->cpu, sizeof(m->cpu), "%s", value + 2);
		break;
	}
	if (f)
		fclose(f);
}

/* The mode is the word in brackets. */
static void look_at_thp(struct machine *m)
{
	char line[128] = "";
	char *from, *to;
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	from = strchr(line, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to)
		snprintf(m->thp, sizeof(m->thp), "%.*s", (int)(to - from - 1),
			 from + 1);
	else
		snprintf(m->thp, sizeof(m->thp), "unknown");
}

void machine_look(struct machine *m)
{
	struct utsname u;
	cpu_set_t set;
	long pages = sysconf(_SC_PHYS_PAGES);

	memset(m, 0, sizeof(*m));
	look_at_cpu(m);
	look_at_thp(m);
	if (uname(&u) == 0)
		snprintf(m->kernel, sizeof(m->kernel), "%.30s %.60s %.30s",
			 u.sysname, u.release, u.machine);
	snprintf(m->libc, sizeof(m->libc), "glibc %s", gnu_get_libc_version());
	m->cpus = sched_getaffinity(0, sizeof(set), &set) == 0
			  ? CPU_COUNT(&set)
			  : sysconf(_SC_NPROCESSORS_ONLN);
	if (pages > 0)
		m->memory_bytes =
			(uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One round; negative if there is no memory. */
static double probe_once(int advice)
{
	double start = seconds();
	size_t i;
	char *p = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	/* refused where there are no huge pages, which is as well */
	madvise(p, PROBE_BYTES, advice);
	for (i = 0; i < PROBE_BYTES; i += PROBE_PAGE)
		((volatile char *)p)[i] = 1;
	munmap(p, PROBE_BYTES);
	return (seconds() - start) * 1e9 / (PROBE_BYTES / PROBE_PAGE);
}

/* The best of some rounds: the others were disturbed. */
static double probe(int advice)
{
	double ns, best = 0;
	int i;

	for (i = 0; i < PROBE_ROUNDS; i++) {
		ns = probe_once(advice);
		if (ns > 0 && (best == 0 || ns < best))
			best = ns;
	}
	return best;
}

struct fault_cost machine_fault_cost(void)
{
	struct fault_cost cost = { 0, 0 };
	bool got;
	int fd[2];
	pid_t pid;

	if (pipe(fd))
		return cost;
	pid = fork();
	if (pid == 0) {
		cost.page = probe(MADV_NOHUGEPAGE);
		cost.huge = probe(MADV_HUGEPAGE);
		_exit(write(fd[1], &cost, sizeof(cost)) != sizeof(cost));
	}
	close(fd[1]);
	got = pid > 0 && read(fd[0], &cost, sizeof(cost)) == sizeof(cost);
	close(fd[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (!got)
		cost.page = cost.huge = 0;
	return cost;
}
