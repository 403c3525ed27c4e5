/* SPDX-License-Identifier: MIT */
/*
 * quire bench page_fault1: pages faulted in and given back, a second.
 *
 * The bodies and their samples are in bench_touch.c.  In every round each body
 * runs once with each number of threads and of processes, in changing order.
 */
#include "bench_page_fault1.h"
#include "bench_child.h"
#include "bench_memory.h"
#include "cli.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES = 128 << 20, WARM_UP = 6 };

static const struct body {
	const char *name;
	bool preload;
	bool zone; /* half of which may be free: four times the memory */
} bodies[] = {
	{ "kernel", false, false },
	{ "kernel-thp", false, false },
	{ "span", true, false },
	{ "span-zeroed", true, false },
	{ "pages", false, true },
	{ "pages-aged", false, true },
	{ "pages-single", false, true },
	{ "pages-pick", false, true },
	{ "pages-prefetch", false, true },
	{ "pages-single-aged", false, true },
	{ "pages-pick-aged", false, true },
	{ "pages-prefetch-aged", false, true },
};
enum { NR_BODIES = sizeof(bodies) / sizeof(*bodies) };

int page_fault1_check(const struct bench_options *o)
{
	const char *list = o->bodies;
	size_t len;
	int i;

	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		for (i = 0; i < NR_BODIES; i++)
			if (strlen(bodies[i].name) == len &&
			    !memcmp(bodies[i].name, list, len))
				break;
		if (i == NR_BODIES)
			return usage_error(
				"bench: --bodies: '%.*s' is none (see quire-bench(1))",
				(int)len, list);
	}
	return 0;
}

static bool has_thp(const struct bench *b)
{
	return !strcmp(b->machine.thp, "always") ||
	       !strcmp(b->machine.thp, "madvise");
}

/* What the others are compared with always runs. */
static bool runs(const struct bench *b, const struct body *body)
{
	const char *list = b->options->bodies;
	size_t len;

	if (!strcmp(body->name, "kernel-thp") && !has_thp(b))
		return false;
	if (!list || !strcmp(body->name, "kernel"))
		return true;
	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		if (strlen(body->name) == len && !memcmp(body->name, list, len))
			return true;
	}
	return false;
}

static size_t nr_variants(const struct bench_options *o)
{
	return o->threads.nr + o->processes.nr;
}

/* "t1", "t2", "p1" … */
static struct spelled variant_of(const struct bench_options *o, size_t i)
{
	bool threads = i < o->threads.nr;
	struct spelled out;

	snprintf(out.s, sizeof(out.s), "%c%" PRIu64, threads ? 't' : 'p',
		 threads ? o->threads.v[i] : o->processes.v[i - o->threads.nr]);
	return out;
}

static int run_one(struct bench *b, const struct body *body,
		   const char *variant)
{
	struct series_key key = { "page_fault1", body->name, variant, NULL };
	char kind[2] = { *variant, '\0' };
	char *seconds = xasprintf("%.9g", b->options->seconds);
	char *samples = xasprintf("%u", b->options->samples);
	const char *words[] = { ".touch", body->name, kind, variant + 1,
				seconds,  samples,    NULL };
	int rc;

	bench_progress(b, body->name, variant);
	rc = bench_child(b, words, &key, body->preload);
	bench_progress_clear(b);
	free(seconds);
	free(samples);
	return rc;
}

static int run_round(struct bench *b, uint64_t *seed)
{
	size_t nr = NR_BODIES * nr_variants(b->options), i, k, t;
	size_t *order = xcalloc(nr, sizeof(*order));
	int rc = 0;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		k = statistics_random(seed, (uint32_t)i);
		t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
	for (i = 0; i < nr && !rc; i++) {
		const struct body *body = &bodies[order[i] % NR_BODIES];

		if (runs(b, body))
			rc = run_one(
				b, body,
				variant_of(b->options, order[i] / NR_BODIES).s);
	}
	free(order);
	return rc;
}

static uint64_t most(const struct bench_list *l)
{
	uint64_t max = 0;
	size_t i;

	for (i = 0; i < l->nr; i++)
		max = l->v[i] > max ? l->v[i] : max;
	return max;
}

static int check_room(const struct bench *b)
{
	uint64_t t = most(&b->options->threads);
	uint64_t p = most(&b->options->processes), room = memory_available();
	uint64_t need = (t > p ? t : p) * BODY_BYTES;
	bool zones = false;
	int i;

	for (i = 0; i < NR_BODIES; i++)
		zones |= bodies[i].zone && runs(b, &bodies[i]);
	need = need * (zones ? 4 : 1) + MEMORY_SPARE;

	if (need <= room)
		return 0;
	return usage_error("bench page_fault1: needs %s, and %s are available",
			   spell_bytes((double)need).s,
			   spell_bytes((double)room).s);
}

/* What the tables go by. */
static void declare(struct bench *b)
{
	struct series_key key = { "page_fault1", NULL, NULL, "pages" };
	struct spelled variant;
	size_t i, k;

	for (i = 0; i < nr_variants(b->options); i++) {
		variant = variant_of(b->options, i);
		key.variant = variant.s;
		for (k = 0; k < NR_BODIES; k++) {
			key.name = bodies[k].name;
			if (runs(b, &bodies[k]))
				series_declare(&b->series, &key);
		}
	}
}

int bench_page_fault1(struct bench *b)
{
	const struct bench_options *o = b->options;
	uint64_t seed = 20180301;
	unsigned int i;
	unsigned int nr = 0;
	int rc = check_room(b);

	for (i = 0; i < NR_BODIES; i++)
		nr += runs(b, &bodies[i]);
	if (!rc && !has_thp(b))
		bench_note(b, "kernel-thp",
			   xstrdup("transparent huge pages are switched off"));
	b->done = 0;
	b->planned = nr * (unsigned int)nr_variants(o) * o->rounds;
	if (!rc && !o->quiet)
		say("bench page_fault1: %u runs of %.1f s", b->planned,
		    o->seconds * (WARM_UP + o->samples));
	if (!rc)
		declare(b);
	for (i = 0; i < o->rounds && !rc; i++) {
		rc = run_round(b, &seed);
		bench_note_load(b, "page_fault1");
	}
	return rc;
}

/* ---- the table ---- */

static const struct series *metric_of(const struct bench *b, const char *name,
				      const char *variant, const char *metric)
{
	struct series_key key = { "page_fault1", name, variant, metric };

	return series_find(&b->series, &key);
}

static const struct series *get(const struct bench *b, const char *name,
				const char *variant)
{
	return metric_of(b, name, variant, "pages");
}

static void put_row(const struct bench *b, const char *name,
		    const char *variant, FILE *f)
{
	const struct series *s = get(b, name, variant);
	double tasks = strtod(variant + 1, NULL);
	struct comparison c;
	char text[64];

	if (!s)
		return;
	snprintf(text, sizeof(text), "%s:%s", name, variant);
	cell_left(f, text, 23);
	cell_right(f, spell_count(series_median(s)).s, 14);
	snprintf(text, sizeof(text), "%.1f", 1e9 * tasks / series_median(s));
	cell_right(f, text, 10);
	series_compare(s, get(b, "kernel", variant), &c);
	if (strcmp(name, "kernel")) {
		cell_ratio(f, &c);
		cell_verdict(f, &c, "higher");
	}
	fputc('\n', f);
}

static void put_limit(const struct bench *b, const char *variant, FILE *f)
{
	struct comparison c;

	series_compare(get(b, "span-zeroed", variant),
		       get(b, "kernel-thp", variant), &c);
	if (isnan(c.against.ratio))
		return;
	fprintf(f, "span-zeroed:%s is %.2f times kernel-thp:%s", variant,
		c.against.ratio, variant);
	if (isfinite(c.against.low))
		fprintf(f, " (%.2f–%.2f)", c.against.low, c.against.high);
	fputc('\n', f);
}

/* ---- the ways to drain ---- */

/* Above it nothing is said to be no difference. */
#define NOISE_MOST 20.0 /* percent */

/* "3.1 % faster", "no difference (+-1.2 %)" */
static void put_direction(const struct bench *b, const char *name,
			  const char *base, const char *variant, FILE *f)
{
	struct comparison c;
	double percent, noise;

	series_compare(get(b, name, variant), get(b, base, variant), &c);
	percent = 100 * fabs(c.against.ratio - 1);
	noise = 100 * fmax(fabs(c.against.low - 1), fabs(c.against.high - 1));
	fprintf(f, "%s:%s: ", name, variant);
	switch (c.verdict) {
	case VERDICT_MORE:
		fprintf(f, "%.1f %% faster than %s\n", percent, base);
		break;
	case VERDICT_LESS:
		fprintf(f, "%.1f %% slower than %s\n", percent, base);
		break;
	case VERDICT_SAME:
		fprintf(f, "%s %s (±%.1f %%)\n",
			noise < NOISE_MOST ? "no difference to"
					   : "too much noise to tell from",
			base, noise);
		break;
	default:
		fprintf(f, "too few runs to hold it against %s\n", base);
	}
}

static void put_directions(const struct bench *b, const char *variant, FILE *f)
{
	static const char *const pairs[][2] = {
		{ "pages-pick", "pages-single" },
		{ "pages-prefetch", "pages-single" },
		{ "pages-prefetch", "pages-pick" },
		{ "pages-pick-aged", "pages-single-aged" },
		{ "pages-prefetch-aged", "pages-single-aged" },
		{ "pages-prefetch-aged", "pages-pick-aged" },
	};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (get(b, pairs[i][0], variant) &&
		    get(b, pairs[i][1], variant))
			put_direction(b, pairs[i][0], pairs[i][1], variant, f);
}

static void put_locks(const struct bench *b, const char *variant, FILE *f)
{
	const struct series *takes, *contended, *hold;
	char text[64];
	int i;

	for (i = 0; i < NR_BODIES; i++) {
		takes = metric_of(b, bodies[i].name, variant, "zone_takes");
		contended =
			metric_of(b, bodies[i].name, variant, "zone_contended");
		hold = metric_of(b, bodies[i].name, variant, "zone_hold");
		if (!takes || !contended || !hold)
			continue;
		snprintf(text, sizeof(text), "%s:%s", bodies[i].name, variant);
		cell_left(f, text, 23);
		snprintf(text, sizeof(text), "%.2f",
			 1000 * series_median(takes));
		cell_right(f, text, 14);
		snprintf(text, sizeof(text), "%.3f",
			 1000 * series_median(contended));
		cell_right(f, text, 14);
		snprintf(text, sizeof(text), "%.1f", series_median(hold));
		cell_right(f, text, 14);
		fputc('\n', f);
	}
}

static void put_zones(const struct bench *b, FILE *f)
{
	bool any = false;
	size_t i;

	for (i = 0; i < NR_BODIES; i++)
		any |= bodies[i].zone && runs(b, &bodies[i]);
	if (!any)
		return;
	cell_left(f, "locks of free lists", 23);
	cell_right(f, "takes/1000", 14);
	cell_right(f, "contended/1000", 15);
	cell_right(f, "cycles held", 13);
	fputc('\n', f);
	for (i = 0; i < nr_variants(b->options); i++)
		put_locks(b, variant_of(b->options, i).s, f);
	for (i = 0; i < nr_variants(b->options); i++)
		put_directions(b, variant_of(b->options, i).s, f);
}

void bench_page_fault1_print(const struct bench *b, FILE *f)
{
	size_t i, k;

	cell_left(f, "", 23);
	cell_right(f, "pages/s", 14);
	cell_right(f, "ns/page", 10);
	cell_right(f, "ratio", 7);
	cell_right(f, "95 %", 14);
	fputs("  verdict\n", f);
	for (i = 0; i < nr_variants(b->options); i++)
		for (k = 0; k < NR_BODIES; k++)
			put_row(b, bodies[k].name, variant_of(b->options, i).s,
				f);
	for (i = 0; i < nr_variants(b->options); i++)
		put_limit(b, variant_of(b->options, i).s, f);
	put_zones(b, f);
	fputs("ratio: against kernel; ns/page: of one task; span and pages do not clear\n",
	      f);
}
