/* SPDX-License-Identifier: MIT */
/*
 * quire bench: the mechanisms of quire side by side with what there is
 * without it, on this machine.
 *
 * Absolute figures drift from machine to machine and from minute to minute, so
 * all cases of a bench run in turn in one go, and a machine that is busy with
 * something else is said to be.
 */
#include "bench.h"
#include "bench_bigfree.h"
#include "bench_lru.h"
#include "bench_options.h"
#include "bench_page.h"
#include "bench_page_fault1.h"
#include "bench_result.h"
#include "child.h"
#include "cli.h"
#include "result.h"
#include "scratch.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 300 };

static const struct kind {
	const char *name;
	int (*check)(const struct bench_options *o); /* NULL: nothing to */
	int (*run)(struct bench *b);
	void (*print)(const struct bench *b, FILE *f);
	const char *help;
} list[] = {
	/* in the order of their bits: BENCH_BIGFREE … */
	{ "bigfree", bigfree_check, bench_bigfree, bench_bigfree_print,
	  "a big block is given back: alone, by several threads, behind the caller's back" },
	{ "page_fault1", page_fault1_check, bench_page_fault1,
	  bench_page_fault1_print,
	  "pages are touched and given back: by the kernel, and kept by quire" },
	{ "page_bench", page_check, bench_page, bench_page_print,
	  "a page is allocated and freed: by quire, malloc libraries, DPDK's mempool" },
	{ "time_bench", NULL, bench_time, bench_time_print,
	  "what a lock, blocked signals, a CPU number cost, and a page with each" },
	{ "readtwice", NULL, bench_readtwice, bench_readtwice_print,
	  "groups read more than their limit: a lock for each group, or one for all" },
	{ "lru", lru_check, bench_lru, bench_lru_print,
	  "what groups cost: a charge, a touch, the life of a page, reclaim, a scan" },
};
enum { NR_BENCHES = sizeof(list) / sizeof(*list) };

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_answer(const char *name, double value)
{
	printf("%s %.9g\n", name, value);
}

void bench_note(struct bench *b, const char *name, char *why)
{
	b->notes = xrealloc(b->notes, b->nr_notes + 1, sizeof(*b->notes));
	b->notes[b->nr_notes++] =
		(struct bench_note){ .name = xstrdup(name), .why = why };
}

void bench_note_load(struct bench *b, const char *name)
{
	struct series_key key = { name, "machine", "", "other_load" };

	series_add(&b->series, &key, b->others_s / b->took_s);
	key.metric = "steal";
	series_add(&b->series, &key, b->steal_s / b->took_s);
	b->took_s = b->others_s = b->steal_s = 0;
}

void bench_progress(struct bench *b, const char *what, const char *variant)
{
	double left = 0;

	if (!b->done)
		b->started_ns = bench_now_ns();
	if (!b->progress)
		return;
	if (b->done)
		left = (double)(bench_now_ns() - b->started_ns) * 1e-9 /
		       b->done * (b->planned - b->done);
	fprintf(stderr, "\r\033[Kquire: run %u of %u: %s %s", b->done + 1,
		b->planned, what, variant);
	if (b->done)
		fprintf(stderr, ", %s left", spell_seconds(left).s);
}

void bench_progress_clear(const struct bench *b)
{
	if (b->progress)
		fputs("\r\033[K", stderr);
}

static int print_list(void)
{
	int i;

	for (i = 0; i < NR_BENCHES; i++)
		printf("%-13s%s\n", list[i].name, list[i].help);
	return CLI_OK;
}

/* Is somebody else at work here? Said before anything runs. */
static void look_around(struct bench *b)
{
	struct timespec nap = { .tv_nsec = LOOK_MS * 1000000L };
	double others, steal;

	if (b->options->quiet)
		return;
	load_begin(&b->load);
	nanosleep(&nap, NULL);
	if (load_end(&b->load, &others, &steal) && others + steal > LOAD_BUSY)
		say("the machine is busy: others use %.1f CPUs now; better wait",
		    others + steal);
}

static double median_load(const struct bench *b, const char *name,
			  const char *metric)
{
	struct series_key key = { name, "machine", "", metric };

	return series_median(series_find(&b->series, &key));
}

static void judge_load(const struct bench *b, const char *name)
{
	double others = median_load(b, name, "other_load");
	double steal = median_load(b, name, "steal");

	if (!b->options->quiet && b->disturbed && b->options->wait_s)
		say("bench %s: %u runs were disturbed and no quiet time came",
		    name, b->disturbed);
	if (!b->options->quiet && others + steal > LOAD_BUSY)
		say("bench %s: others used %.2f CPUs and %.2f were stolen: a busy machine is a failed measurement",
		    name, others, steal);
}

static int write_results(const struct bench *b, char **words)
{
	FILE *out = b->options->out;
	struct result *r;
	int rc = 0;

	if (!RESULT_AVAILABLE || (!b->options->json && !out))
		return 0;
	r = bench_result(b, words);
	errno = 0;
	if (b->options->json)
		rc = result_write(r, stdout);
	if (out && !rc)
		rc = result_write(r, out);
	if (out && fclose(out) && !rc)
		rc = -errno;
	result_free(r);
	if (rc)
		say("cannot write the result: %s", strerror(-rc));
	return rc ? CLI_OWN : 0;
}

static void print_notes(const struct bench *b)
{
	size_t i;

	for (i = 0; i < b->nr_notes; i++)
		printf("%s: %s\n", b->notes[i].name, b->notes[i].why);
}

static int run(struct bench *b, const struct kind *kind)
{
	int rc = kind->run(b);

	if (rc)
		return rc;
	judge_load(b, kind->name);
	if (!b->options->json)
		kind->print(b, stdout);
	return fflush(stdout) ? CLI_OWN : 0;
}

static int prepare(struct bench *b)
{
	if (!scratch_open())
		return CLI_OWN;
	child_signals(CHILD_STOP);
	machine_look(&b->machine);
	b->progress = !b->options->quiet && isatty(STDERR_FILENO);
	look_around(b);
	return child_stopped() ? CLI_SIGNAL + child_stopped() : 0;
}

static void end(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->nr_notes; i++) {
		free(b->notes[i].name);
		free(b->notes[i].why);
	}
	free(b->notes);
	series_free(&b->series);
}

/* The benches that @name stands for, as bits; 0: none. */
static unsigned int find(const char *name)
{
	unsigned int bits = 0;
	int i;

	for (i = 0; i < NR_BENCHES; i++)
		if (!strcmp(name, "all") || !strcmp(name, list[i].name))
			bits |= 1u << i;
	return bits;
}

/* Options that a bench does not have, and lists with what there is not. */
static int check(const struct bench_options *o, unsigned int bits,
		 const struct bench_foreign *foreign)
{
	int i, rc = 0;

	for (i = 0; i < NR_BENCHES && !rc; i++) {
		if (!(bits & 1u << i))
			continue;
		if (foreign->option[i])
			rc = usage_error("bench %s: there --%s is no option",
					 list[i].name, foreign->option[i]);
		else if (list[i].check)
			rc = list[i].check(o);
	}
	return rc;
}

static int run_all(const struct bench_options *o, unsigned int bits,
		   char **words)
{
	struct bench b = { .options = o };
	int i, rc = prepare(&b);

	for (i = 0; i < NR_BENCHES && !rc; i++)
		if (bits & 1u << i)
			rc = run(&b, &list[i]);
	if (!rc && !o->json)
		print_notes(&b);
	if (!rc)
		rc = write_results(&b, words);
	end(&b);
	return rc;
}

/* What a process is started for that makes one sample. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} children[] = {
	{ ".free", bench_free },
	{ ".touch", bench_touch },
	{ ".twice", bench_twice },
	{ ".lru", bench_lru_ops },
};
enum { NR_CHILDREN = sizeof(children) / sizeof(*children) };

int cmd_bench(int argc, char **argv)
{
	struct bench_options o;
	struct bench_foreign foreign;
	unsigned int bits;
	const char *name;
	int i, rc;

	if (argc > 1)
		for (i = 0; i < NR_CHILDREN; i++)
			if (!strcmp(argv[1], children[i].name))
				return children[i].run(argc - 1, argv + 1);
	rc = bench_options_read(&o, argc, argv, &name, &foreign);
	if (rc >= 0)
		return rc;
	if (!strcmp(name, "list"))
		return print_list();
	bits = find(name);
	if (!bits)
		return usage_error("bench: '%s' is none (see quire bench list)",
				   name);
	rc = check(&o, bits, &foreign);
	if (rc)
		return rc;
	return run_all(&o, bits, argv);
}
