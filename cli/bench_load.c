/* SPDX-License-Identifier: MIT */
/*
 * How busy the machine is with other work.
 *
 * /proc/stat counts the time of all CPUs; what we, our children and our
 * spinners used is taken off, and the rest is somebody else's.  Stolen time is
 * what a hypervisor gave to others.  Both are told with the results: a busy
 * machine is a failed measurement.
 *
 * A spinner is a process of its own, nailed to one CPU: the library cannot
 * take it for its own work, and the kernel cannot move it out of the way.
 */
#include "bench_load.h"
#include "bench.h"
#include "child.h"
#include "cli.h"
#include "sample.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 300 };

static bool read_stat(double *busy_s, double *steal_s)
{
	unsigned long long v[8] = { 0 }; /* user nice system idle iowait irq
					    softirq steal */
	double tick = (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	int n = 0;

	if (f) {
		n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu",
			   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
			   &v[7]);
		fclose(f);
	}
	*busy_s = (double)(v[0] + v[1] + v[2] + v[5] + v[6]) / tick;
	*steal_s = (double)v[7] / tick;
	return n == 8;
}

static double usage_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return sample_seconds(u.ru_utime) + sample_seconds(u.ru_stime);
}

static double own_s(const struct bench_load *l)
{
	double s = usage_s(RUSAGE_SELF) + usage_s(RUSAGE_CHILDREN);
	struct timespec t;
	unsigned int i;
	clockid_t id;

	for (i = 0; i < l->nr_spinners; i++)
		if (!clock_getcpuclockid(l->spinner[i], &id) &&
		    !clock_gettime(id, &t))
			s += (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	return s;
}

void load_begin(struct bench_load *l)
{
	l->known = read_stat(&l->busy_s, &l->steal_s);
	l->own_s = own_s(l);
	l->at_ns = bench_now_ns();
}

bool load_end(const struct bench_load *l, double *others, double *steal)
{
	double busy_s, steal_s, s;
	bool known = read_stat(&busy_s, &steal_s) && l->known;

	s = (double)(bench_now_ns() - l->at_ns) * 1e-9;
	if (!known || s <= 0)
		return false;
	*others = (busy_s - l->busy_s - (own_s(l) - l->own_s)) / s;
	*steal = (steal_s - l->steal_s) / s;
	if (*others < 0)
		*others = 0;
	return true;
}

void load_wait(struct bench_load *l, unsigned int wait_s)
{
	struct timespec nap = { .tv_nsec = LOOK_MS * 1000000L };
	uint64_t until = bench_now_ns() + wait_s * (uint64_t)1000000000;
	double others, steal;

	while (bench_now_ns() < until && !child_stopped()) {
		load_begin(l);
		nanosleep(&nap, NULL);
		if (!load_end(l, &others, &steal) || others + steal < LOAD_BUSY)
			break;
	}
}

static void __attribute__((noreturn)) spin(int cpu)
{
	cpu_set_t one;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* The @nr-th CPU from the end of those that we may use; -1: too few. */
static int cpu_from_end(const cpu_set_t *set, unsigned int nr)
{
	int cpu;

	for (cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, set) && nr-- == 0)
			return cpu;
	return -1;
}

int load_spin(struct bench_load *l, unsigned int nr)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		CPU_ZERO(&set);
	while (l->nr_spinners < nr) {
		cpu = cpu_from_end(&set, l->nr_spinners);
		if (cpu < 0 || l->nr_spinners == BENCH_BUSY_MAX)
			return usage_error(
				"bench: --busy %u is more than the %u CPUs that may be used",
				nr, l->nr_spinners);
		l->spinner[l->nr_spinners] = fork();
		if (l->spinner[l->nr_spinners] == 0)
			spin(cpu);
		if (l->spinner[l->nr_spinners] < 0) {
			say("bench: cannot start a process: %s",
			    strerror(errno));
			return CLI_OWN;
		}
		l->nr_spinners++;
	}
	return 0;
}

void load_spin_end(struct bench_load *l)
{
	while (l->nr_spinners) {
		l->nr_spinners--;
		kill(l->spinner[l->nr_spinners], SIGKILL);
		waitpid(l->spinner[l->nr_spinners], NULL, 0);
	}
}
