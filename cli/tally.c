/* SPDX-License-Identifier: MIT */
/*
 * What the processes of one command left in its directory of records.
 *
 * The records are added up as they are read, not kept: `make -j` leaves
 * thousands, and we must stay small (see child.c about ru_maxrss).
 */
#include "tally.h"
#include "text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static void note_malloc(struct tally *t, const char *from)
{
	unsigned int i;

	for (i = 0; i < t->nr_mallocs; i++)
		if (!strcmp(t->malloc_from[i], from))
			return;
	if (!*from || t->nr_mallocs == TALLY_MALLOCS)
		return;
	memcpy(t->malloc_from[t->nr_mallocs++], from,
	       sizeof(t->malloc_from[0]));
}

static void add(struct tally *t, const struct quire_process *p)
{
	unsigned int i;

	t->nr++;
	if (p->rss_end > t->rss_end)
		t->rss_end = p->rss_end;
	if (p->rss_peak > t->rss_peak)
		t->rss_peak = p->rss_peak;
	for (i = 0; i < QUIRE_NR_COUNTERS; i++) {
		if (quire_counter_info(i)->kind != QUIRE_KIND_PEAK)
			t->counter[i] += p->counter[i];
		else if (p->counter[i] > t->counter[i])
			t->counter[i] = p->counter[i];
	}
	note_malloc(t, p->malloc_from);
}

void tally_read(struct tally *t, const char *dir, pid_t pid)
{
	struct quire_process p;
	struct dirent *entry;
	uint64_t nr;
	char *path;
	DIR *d = opendir(dir);

	memset(t, 0, sizeof(*t));
	while (d && (entry = readdir(d))) {
		if (text_number(entry->d_name, &nr))
			continue;
		path = xasprintf("%s/%s", dir, entry->d_name);
		p.size = sizeof(p);
		if (quire_process_read(path, &p) == 0) {
			add(t, &p);
			if (nr == (uint64_t)pid) {
				t->main = p;
				t->has_main = true;
			}
		}
		free(path);
	}
	if (d)
		closedir(d);
}

void tally_sum(const struct tally *t, struct quire_process *out)
{
	*out = t->main;
	out->size = sizeof(*out);
	memcpy(out->counter, t->counter, sizeof(out->counter));
}

static size_t stem(const char *file)
{
	const char *so = strstr(file, ".so");

	return so ? (size_t)(so - file) : strlen(file);
}

bool tally_malloc_is(const struct tally *t, const char *file)
{
	size_t len = stem(file);
	unsigned int i;

	for (i = 0; i < t->nr_mallocs; i++) {
		const char *base = text_base(t->malloc_from[i]);

		if (stem(base) == len && !memcmp(base, file, len))
			return true;
	}
	return false;
}
