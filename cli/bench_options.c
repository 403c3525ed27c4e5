/* SPDX-License-Identifier: MIT */
/*
 * The options of `quire bench`.
 *
 * One table for all benches: an option that a bench has no use for is refused
 * by name rather than as unknown.
 */
#include "bench_options.h"
#include "bench_lru.h"
#include "bench_readtwice.h"
#include "cli.h"
#include "result.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 7,
	ROUNDS_MAX = 1000,
	WORKERS_MAX = 8, /* of a release */
	TASKS_MAX = 64,	 /* of page_fault1 */
	SAMPLES = 5,
	SAMPLES_MAX = 100000,
	BUSY_MAX = 64,
	WAIT_MAX = 86400,
	LOOPS = 1000000,
	LOOPS_LEAST = 1000,
	LOOPS_MOST = 100000000,
};

#define BENCH_SECONDS 0.2
#define SECONDS_LEAST 0.01
#define BENCH_SIZE    ((uint64_t)8 << 30)
#define BENCH_LEAST   ((uint64_t)1 << 20)
#define BENCH_MOST    ((uint64_t)1 << 46)

const char *const bench_pages_name[BENCH_ANY + 1] = { "4k", "thp", "hugetlb",
						      "any" };

static void print_help(void)
{
	printf("usage: quire bench NAME|list|all [options]\n\n"
	       "  -n, --rounds N     rounds (%d); every case runs once in each\n"
	       "  --json             the result as JSON on stdout, no table\n"
	       "  -o, --output FILE  the result as JSON to FILE (- for stdout)\n"
	       "  -q, --quiet        no progress, no remarks\n"
	       "  --wait S           begin each run when others are quiet, and do it again\n"
	       "                     if they disturbed it, for S seconds at most (0)\n"
	       "bigfree: a big block is given back\n"
	       "  --size SIZE        of the block (8G, or what fits)\n"
	       "  --scale LIST       several sizes; what a page costs as they grow\n"
	       "  --workers LIST     N of parallel:N and split:N (1,2,4,8)\n"
	       "  --pages LIST       of 4k,thp,hugetlb (all)\n"
	       "  --cases LIST       of handmade,parallel,async,split,malloc,malloc-quire (all)\n"
	       "  --busy N           keep N CPUs busy meanwhile (0)\n"
	       "page_fault1: pages are touched and given back, without end\n"
	       "  --bodies LIST      of kernel,kernel-thp,span,span-zeroed,pages… (all)\n"
	       "  --threads LIST     numbers of threads (1 and the number of CPUs)\n"
	       "  --processes LIST   numbers of processes (the same)\n"
	       "  --seconds S        between two samples (%.1f)\n"
	       "  --samples N        that count; six before them do not (%d)\n"
	       "page_bench: a page is allocated and freed, by quire and by others\n"
	       "  --cases LIST       of quire,quire-lto,glibc,jemalloc,mimalloc,tcmalloc,mempool,\n"
	       "                     mempool-inline,mmap (all)\n"
	       "  --variants LIST    of single,outstanding:64 … (all; see quire-bench(1)), tests\n"
	       "  --loops N          of the six tests (%d)\n"
	       "readtwice: groups read what is larger than their limit\n"
	       "  --groups LIST      numbers of groups (1,4,10,40)\n"
	       "  --lru-lock LIST    of group,node (both)\n"
	       "  --duration S       of a run (%.0f)\n"
	       "lru: what groups cost\n"
	       "  --cases LIST       of page,charge,touch,get,churn,reclaim,scan (all)\n"
	       "  --duration S       of a run (%.1f)\n",
	       ROUNDS, BENCH_SECONDS, SAMPLES, LOOPS, READTWICE_SECONDS,
	       LRU_SECONDS);
}

static int take_number(const char *option, const char *arg, unsigned int low,
		       unsigned int high, unsigned int *out)
{
	uint64_t n;

	if (text_number(arg, &n) || n < low || n > high)
		return usage_error(
			"bench: %s '%s' is not a number from %u to %u", option,
			arg, low, high);
	*out = (unsigned int)n;
	return 0;
}

/* A size: digits and at most one of K, M, G, T. */
static int read_size(const char *s, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t v;
	char *end;
	int shift = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoumax(s, &end, 10);
	if (errno)
		return -EINVAL;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (int)(unit - units + 1);
	}
	if (v > BENCH_MOST >> shift)
		return -EINVAL;
	*out = v << shift;
	return 0;
}

/* Whole huge pages, so that all kinds of pages have the same block. */
static int read_block_size(const char *s, uint64_t *out)
{
	if (read_size(s, out) || *out < BENCH_LEAST)
		return -EINVAL;
	*out = (*out + ((uint64_t)2 << 20) - 1) & ~(((uint64_t)2 << 20) - 1);
	return 0;
}

static int read_workers(const char *s, uint64_t *out)
{
	return text_number(s, out) || *out < 1 || *out > WORKERS_MAX ? -EINVAL
								     : 0;
}

static int read_tasks(const char *s, uint64_t *out)
{
	return text_number(s, out) || *out < 1 || *out > TASKS_MAX ? -EINVAL
								   : 0;
}

static int read_pages(const char *s, uint64_t *out)
{
	for (*out = BENCH_4K; *out < BENCH_ANY; ++*out)
		if (!strcmp(bench_pages_name[*out], s))
			return 0;
	return -EINVAL;
}

static int take_list(const char *option, const char *arg, const char *wanted,
		     int (*read)(const char *s, uint64_t *out),
		     struct bench_list *list)
{
	char *words = xstrdup(arg), *word, *rest = words;
	int rc = 0;

	list->nr = 0;
	while (!rc && (word = strsep(&rest, ",")) != NULL) {
		if (list->nr == BENCH_LIST || read(word, &list->v[list->nr++]))
			rc = usage_error("bench: %s '%s' is not %s", option,
					 arg, wanted);
	}
	free(words);
	return rc;
}

static int read_groups(const char *s, uint64_t *out)
{
	return text_number(s, out) || *out < 1 || *out > READTWICE_GROUPS_MAX
		       ? -EINVAL
		       : 0;
}

static int read_lock(const char *s, uint64_t *out)
{
	for (*out = 0; *out < READTWICE_LOCKS; ++*out)
		if (!strcmp(readtwice_lock[*out], s))
			return 0;
	return -EINVAL;
}

static int take_locks(const char *arg, struct bench_list *list)
{
	int rc = take_list("--lru-lock", arg, "group, node or both", read_lock,
			   list);

	if (!rc && list->nr > 1 && list->v[0] == list->v[1])
		return usage_error("bench: --lru-lock '%s' says it twice", arg);
	return rc;
}

static int take_seconds(const char *option, const char *arg, double *out)
{
	char *end;
	double s = isdigit((unsigned char)*arg) ? strtod(arg, &end) : 0;

	if (!(s >= SECONDS_LEAST && s <= 3600) || *end)
		return usage_error(
			"bench: %s '%s' is not a number from %.3g to 3600",
			option, arg, SECONDS_LEAST);
	*out = s;
	return 0;
}

static int take_output(struct bench_options *o, const char *path)
{
	if (o->out)
		return usage_error("bench: -o is given twice");
	return result_target("bench", path, &o->out);
}

/* The long options that one bench or some have; the rest all have. */
enum {
	OPTION_SIZE = 1000,
	OPTION_SCALE,
	OPTION_WORKERS,
	OPTION_PAGES,
	OPTION_CASES,
	OPTION_BUSY,
	OPTION_THREADS,
	OPTION_PROCESSES,
	OPTION_SECONDS,
	OPTION_SAMPLES,
	OPTION_BODIES,
	OPTION_VARIANTS,
	OPTION_LOOPS,
	OPTION_GROUPS,
	OPTION_LRU_LOCK,
	OPTION_DURATION,
};

static const struct option_of {
	const char *name;
	int option;
	unsigned int benches;
} options_of[] = {
	{ "size", OPTION_SIZE, BENCH_BIGFREE },
	{ "scale", OPTION_SCALE, BENCH_BIGFREE },
	{ "workers", OPTION_WORKERS, BENCH_BIGFREE },
	{ "pages", OPTION_PAGES, BENCH_BIGFREE },
	{ "cases", OPTION_CASES, BENCH_BIGFREE | BENCH_PAGE | BENCH_LRU },
	{ "busy", OPTION_BUSY, BENCH_BIGFREE },
	{ "threads", OPTION_THREADS, BENCH_PAGE_FAULT1 },
	{ "processes", OPTION_PROCESSES, BENCH_PAGE_FAULT1 },
	{ "seconds", OPTION_SECONDS, BENCH_PAGE_FAULT1 },
	{ "samples", OPTION_SAMPLES, BENCH_PAGE_FAULT1 },
	{ "bodies", OPTION_BODIES, BENCH_PAGE_FAULT1 },
	{ "variants", OPTION_VARIANTS, BENCH_PAGE },
	{ "loops", OPTION_LOOPS, BENCH_PAGE },
	{ "groups", OPTION_GROUPS, BENCH_READTWICE },
	{ "lru-lock", OPTION_LRU_LOCK, BENCH_READTWICE },
	{ "duration", OPTION_DURATION, BENCH_READTWICE | BENCH_LRU },
};
enum { NR_OPTIONS_OF = sizeof(options_of) / sizeof(*options_of) };

static void note_foreign(struct bench_foreign *foreign, int option)
{
	const struct option_of *of = options_of;
	unsigned int i;

	for (; of < options_of + NR_OPTIONS_OF && of->option != option; of++)
		;
	for (i = 0; of < options_of + NR_OPTIONS_OF && 1u << i < BENCH_ALL; i++)
		if (!(of->benches & 1u << i) && !foreign->option[i])
			foreign->option[i] = of->name;
}

static int take_size(struct bench_options *o, bool scale, const char *arg)
{
	const char *option = scale ? "--scale" : "--size";

	if (o->size_given)
		return usage_error("bench: %s: a size is given already",
				   option);
	o->size_given = true;
	o->scale = scale;
	if (!scale && strchr(arg, ','))
		return usage_error(
			"bench: --size '%s' is more than one: --scale takes a list",
			arg);
	return take_list(option, arg, "1M or more, such as 512M or 8G",
			 read_block_size, &o->sizes);
}

static int take_of_bigfree(struct bench_options *o, int c, const char *arg)
{
	switch (c) {
	case OPTION_SIZE:
	case OPTION_SCALE:
		return take_size(o, c == OPTION_SCALE, arg);
	case OPTION_WORKERS:
		return take_list("--workers", arg, "a list of 1 to 8",
				 read_workers, &o->workers);
	case OPTION_PAGES:
		return take_list("--pages", arg, "a list of 4k, thp, hugetlb",
				 read_pages, &o->pages);
	default:
		return take_number("--busy", arg, 0, BUSY_MAX, &o->busy);
	}
}

static int take_of_groups(struct bench_options *o, int c, const char *arg)
{
	switch (c) {
	case OPTION_GROUPS:
		return take_list("--groups", arg, "a list of 1 to 256",
				 read_groups, &o->groups);
	case OPTION_LRU_LOCK:
		return take_locks(arg, &o->locks);
	default:
		return take_seconds("--duration", arg, &o->duration);
	}
}

static int take_of_some(struct bench_options *o, int c, const char *arg)
{
	switch (c) {
	case OPTION_CASES: /* these three: when it is known whose they are */
		o->cases = arg;
		return 0;
	case OPTION_BODIES:
		o->bodies = arg;
		return 0;
	case OPTION_VARIANTS:
		o->variants = arg;
		return 0;
	case OPTION_LOOPS:
		return take_number("--loops", arg, LOOPS_LEAST, LOOPS_MOST,
				   &o->loops);
	case OPTION_THREADS:
		return take_list("--threads", arg, "a list of 1 to 64",
				 read_tasks, &o->threads);
	case OPTION_PROCESSES:
		return take_list("--processes", arg, "a list of 1 to 64",
				 read_tasks, &o->processes);
	case OPTION_SECONDS:
		return take_seconds("--seconds", arg, &o->seconds);
	case OPTION_SAMPLES:
		return take_number("--samples", arg, 1, SAMPLES_MAX,
				   &o->samples);
	case OPTION_GROUPS:
	case OPTION_LRU_LOCK:
	case OPTION_DURATION:
		return take_of_groups(o, c, arg);
	default:
		return take_of_bigfree(o, c, arg);
	}
}

static int take(struct bench_options *o, int c, const char *arg)
{
	switch (c) {
	case 'n':
		return take_number("-n", arg, 1, ROUNDS_MAX, &o->rounds);
	case 'o':
		return take_output(o, arg);
	case 'w':
		return take_number("--wait", arg, 0, WAIT_MAX, &o->wait_s);
	case 'q':
		o->quiet = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	default:
		return take_of_some(o, c, arg);
	}
}

static void set_defaults(struct bench_options *o)
{
	cpu_set_t set;
	unsigned int cpus = 1;

	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = (unsigned int)CPU_COUNT(&set);
	if (cpus > TASKS_MAX)
		cpus = TASKS_MAX;
	*o = (struct bench_options){
		.rounds = ROUNDS,
		.sizes = { .nr = 1, .v = { BENCH_SIZE } },
		.workers = { .nr = 4, .v = { 1, 2, 4, 8 } },
		.pages = { .nr = 3,
			   .v = { BENCH_4K, BENCH_THP, BENCH_HUGETLB } },
		.threads = { .nr = cpus > 1 ? 2 : 1, .v = { 1, cpus } },
		.processes = { .nr = cpus > 1 ? 2 : 1, .v = { 1, cpus } },
		.seconds = BENCH_SECONDS,
		.samples = SAMPLES,
		.loops = LOOPS,
		.groups = { .nr = 4, .v = { 1, 4, 10, 40 } },
		.locks = { .nr = READTWICE_LOCKS, .v = { 0, 1 } },
	};
}

/* The one word that is no option. */
static int take_name(int argc, char **argv, const char **name)
{
	if (optind == argc)
		return usage_error(
			"bench: no name given (see quire bench list)");
	if (optind + 1 < argc)
		return usage_error("bench: '%s' is one word too many",
				   argv[optind + 1]);
	*name = argv[optind];
	return -1;
}

enum { NR_COMMON = 6 };

/* getopt_long's table: what all have, then what some have. */
static void fill_table(struct option table[NR_COMMON + NR_OPTIONS_OF + 1])
{
	static const struct option common[NR_COMMON] = {
		{ "rounds", required_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "wait", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
	};
	int i;

	memcpy(table, common, sizeof(common));
	for (i = 0; i < NR_OPTIONS_OF; i++)
		table[NR_COMMON + i] =
			(struct option){ options_of[i].name, required_argument,
					 NULL, options_of[i].option };
	table[NR_COMMON + NR_OPTIONS_OF] = (struct option){ 0 };
}

int bench_options_read(struct bench_options *o, int argc, char **argv,
		       const char **name, struct bench_foreign *foreign)
{
	struct option table[NR_COMMON + NR_OPTIONS_OF + 1];
	int c, rc;

	set_defaults(o);
	fill_table(table);
	*foreign = (struct bench_foreign){ { NULL } };
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":n:o:qh", table, NULL)) != -1) {
		if (c == 'h')
			return print_help(), CLI_OK;
		if (c == '?' || c == ':')
			return usage_option(argv, c);
		note_foreign(foreign, c);
		rc = take(o, c, optarg);
		if (rc)
			return rc;
	}
	if (o->json && !RESULT_AVAILABLE)
		return usage_error(
			"bench: JSON needs jansson, and this quire was built without it");
	return take_name(argc, argv, name);
}
