/* SPDX-License-Identifier: MIT */
/*
 * What all programs of this folder need: CPUs, answers, the middle of a list.
 */
#include "meter.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

/* As the process began: EAL and we narrow it later. */
static cpu_set_t first_set;

static void look(void)
{
	static int looked;

	if (looked)
		return;
	looked = 1;
	if (sched_getaffinity(0, sizeof(first_set), &first_set) ||
	    !CPU_COUNT(&first_set))
		CPU_SET(0, &first_set);
}

static void __attribute__((constructor)) look_first(void)
{
	look();
}

unsigned int meter_nr_cpus(void)
{
	look();
	return (unsigned int)CPU_COUNT(&first_set);
}

void meter_pin(unsigned int nr)
{
	cpu_set_t one;
	int cpu;

	nr %= meter_nr_cpus();
	for (cpu = 0; !CPU_ISSET(cpu, &first_set) || nr-- > 0; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void meter_answer(const char *variant, const char *metric, double value)
{
	if (variant)
		printf("%s/", variant);
	printf("%s %.9g\n", metric, value);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double meter_median(double *v, unsigned int nr)
{
	if (!nr)
		return NAN;
	qsort(v, nr, sizeof(*v), ascending);
	return nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2;
}

void meter_fail(const char *why)
{
	fflush(stdout);
	fprintf(stderr, "quire: bench: %s\n", why);
	exit(125);
}
