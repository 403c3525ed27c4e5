/* SPDX-License-Identifier: MIT */
/*
 * quire bench lru: what groups cost, operation by operation, with one thread:
 * where there are none, one, many.
 *
 * What a case does is in bench_lru_ops.c.  In every round each case runs once
 * with each of its variants, in changing order.
 */
#include "bench_lru.h"
#include "bench_child.h"
#include "cli.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct item {
	const char *name, *variant;
	const char *metric;
	/* what it is held against: of the same case, another variant */
	const char *base;
} items[] = {
	{ "page", "off", "op", NULL },
	{ "page", "open", "op", "off" },
	{ "page", "root", "op", "off" },
	{ "page", "group:1", "op", "off" },
	{ "page", "group:40", "op", "off" },
	{ "charge", "group:1", "op", NULL },
	{ "charge", "group:40", "op", "group:1" },
	{ "touch", "group:1", "op", NULL },
	{ "get", "group:1", "op", NULL },
	{ "churn", "node", "op", NULL },
	{ "churn", "group", "op", "node" },
	{ "reclaim", "held:4096", "op", NULL },
	{ "reclaim", "held:65536", "op", "held:4096" },
	{ "reclaim", "held:1048576", "op", "held:4096" },
	{ "scan", "alone", "hit_rate", NULL },
	{ "scan", "beside", "hit_rate", "alone" },
	{ "scan", "protected", "hit_rate", "alone" },
};
enum { NR_ITEMS = sizeof(items) / sizeof(*items) };

bool lru_is_variant(const char *name, const char *variant)
{
	int i;

	for (i = 0; i < NR_ITEMS; i++)
		if (!strcmp(items[i].name, name) &&
		    !strcmp(items[i].variant, variant))
			return true;
	return false;
}

static bool is_word(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && !memcmp(name, word, len);
}

int lru_check(const struct bench_options *o)
{
	const char *list = o->cases;
	size_t len;
	int i;

	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		for (i = 0; i < NR_ITEMS; i++)
			if (is_word(items[i].name, list, len))
				break;
		if (i == NR_ITEMS)
			return usage_error(
				"bench: --cases: '%.*s' is none (see quire-bench(1))",
				(int)len, list);
	}
	return 0;
}

static bool runs(const struct bench *b, const struct item *item)
{
	const char *list = b->options->cases;
	size_t len;

	if (!list)
		return true;
	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		if (is_word(item->name, list, len))
			return true;
	}
	return false;
}

static int run_one(struct bench *b, const struct item *item)
{
	struct series_key key = { "lru", item->name, item->variant, NULL };
	double duration = b->options->duration;
	char *seconds =
		xasprintf("%.9g", duration > 0 ? duration : LRU_SECONDS);
	const char *words[] = { ".lru", item->name, item->variant, seconds,
				NULL };
	int rc;

	bench_progress(b, item->name, item->variant);
	rc = bench_child(b, words, &key, false);
	bench_progress_clear(b);
	free(seconds);
	return rc;
}

static int run_round(struct bench *b, uint64_t *seed)
{
	int order[NR_ITEMS], i, k, t, rc = 0;

	for (i = 0; i < NR_ITEMS; i++)
		order[i] = i;
	for (i = NR_ITEMS; i > 1; i--) {
		k = (int)statistics_random(seed, (uint32_t)i);
		t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
	for (i = 0; i < NR_ITEMS && !rc; i++)
		if (runs(b, &items[order[i]]))
			rc = run_one(b, &items[order[i]]);
	return rc;
}

int bench_lru(struct bench *b)
{
	struct series_key key = { "lru", NULL, NULL, NULL };
	uint64_t seed = 20201105;
	unsigned int i, nr = 0;
	int rc = 0;

	for (i = 0; i < NR_ITEMS; i++) {
		if (!runs(b, &items[i]))
			continue;
		key.name = items[i].name;
		key.variant = items[i].variant;
		key.metric = items[i].metric;
		series_declare(&b->series, &key);
		nr++;
	}
	b->done = 0;
	b->planned = nr * b->options->rounds;
	if (!b->options->quiet)
		say("bench lru: %u processes", b->planned);
	for (i = 0; i < b->options->rounds && !rc; i++) {
		rc = run_round(b, &seed);
		bench_note_load(b, "lru");
	}
	return rc;
}

/* ---- the table ---- */

static const struct series *get(const struct bench *b, const struct item *item,
				const char *variant)
{
	struct series_key key = { "lru", item->name, variant, item->metric };

	return series_find(&b->series, &key);
}

static void put_item(const struct bench *b, const struct item *item, FILE *f)
{
	const struct series *s = get(b, item, item->variant);
	bool rate = !strcmp(item->metric, "hit_rate");
	double low = INFINITY, high = -INFINITY;
	struct comparison c;
	char text[64];
	size_t i;

	for (i = 0; i < s->nr; i++) {
		low = fmin(low, s->v[i]);
		high = fmax(high, s->v[i]);
	}
	snprintf(text, sizeof(text), "%s %s", item->name, item->variant);
	cell_left(f, text, 23);
	snprintf(text, sizeof(text), "%.*f", rate ? 4 : 2, series_median(s));
	cell_right(f, text, 9);
	snprintf(text, sizeof(text), "%.*f–%.*f", rate ? 4 : 2, low,
		 rate ? 4 : 2, high);
	cell_right(f, text, 16);
	if (item->base) {
		series_compare(s, get(b, item, item->base), &c);
		cell_ratio(f, &c);
		cell_verdict(f, &c, rate ? "higher" : "lower");
	}
	fputc('\n', f);
}

void bench_lru_print(const struct bench *b, FILE *f)
{
	int i;

	cell_left(f, "", 23);
	cell_right(f, "ns", 9);
	cell_right(f, "from–to", 16);
	cell_right(f, "ratio", 7);
	cell_right(f, "95 %", 14);
	fputs("  verdict\n", f);
	for (i = 0; i < NR_ITEMS; i++)
		if (runs(b, &items[i]))
			put_item(b, &items[i], f);
	fputs("ns: for one operation, or a pair of them; of scan: the share of looks that hit\n"
	      "ratio: page against off, churn against node, reclaim against the fewest, scan against alone\n",
	      f);
}
