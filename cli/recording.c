/* SPDX-License-Identifier: MIT */
/*
 * Reading what the recorder wrote: lines of words and "key value" pairs.
 * Unknown lines and keys are skipped; the last line must be `end`.
 */
#include "recording.h"
#include "text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The word after @key in @line; NULL if it is not there. */
static const char *after(const char *line, const char *key)
{
	size_t len = strlen(key);
	const char *at = line;

	while ((at = strstr(at, key))) {
		if ((at == line || at[-1] == ' ') && at[len] == ' ')
			return at + len + 1;
		at += len;
	}
	return NULL;
}

static uint64_t number_after(const char *line, const char *key)
{
	const char *at = after(line, key);

	return at ? strtoumax(at, NULL, 10) : 0;
}

static void read_total(struct recording *r, const char *line)
{
	r->blocks += number_after(line, "blocks");
	r->bytes += number_after(line, "bytes");
	r->reused += number_after(line, "reused");
	r->refaulted_pages += number_after(line, "refaulted_pages");
	r->first_pages += number_after(line, "first_pages");
}

/* Keep the class with the most pages bought again, then the most bytes. */
static bool read_class(struct recording *r, const char *line)
{
	uint64_t refaulted = number_after(line, "refaulted_pages");
	const char *gap = after(line, "reuse_gap_ms_median");

	if (r->class_blocks && refaulted <= r->class_refaulted)
		return false;
	r->class_size = strtoumax(line, NULL, 10);
	r->class_blocks = number_after(line, "blocks");
	r->class_live_peak = number_after(line, "live_peak");
	r->class_refaulted = refaulted;
	r->class_gap_ms = gap ? strtod(gap, NULL) : 0;
	return true;
}

/* "blocks bytes refaulted where frames": the fourth word. */
static void read_site(struct recording *r, const char *line)
{
	char where[256];

	if (sscanf(line, "%*s %*s %*s %255s", where) == 1)
		memcpy(r->site, where, sizeof(where));
}

static bool is_first_word(const char *line, const char *word, const char **rest)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0 || line[len] != ' ')
		return false;
	*rest = line + len + 1;
	return true;
}

void recording_add(struct recording *into, FILE *f)
{
	struct recording r = *into;
	bool ended = false, dearest = false;
	char *line = NULL;
	const char *rest;
	size_t room = 0;

	while (!ended && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (is_first_word(line, "threshold", &rest)) {
			r.threshold = strtoumax(rest, NULL, 10);
		} else if (is_first_word(line, "total", &rest)) {
			read_total(&r, rest);
		} else if (is_first_word(line, "class", &rest)) {
			if (read_class(&r, rest)) {
				dearest = true;
				r.site[0] = '\0';
			}
		} else if (is_first_word(line, "site", &rest)) {
			if (dearest && !r.site[0])
				read_site(&r, rest);
		} else {
			ended = !strcmp(line, "end");
		}
	}
	free(line);
	if (!ended)
		return;
	r.known = true;
	*into = r;
}

void recording_read(struct recording *r, const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	const char *dot;
	char *path;
	FILE *f;

	memset(r, 0, sizeof(*r));
	while (d && (entry = readdir(d))) {
		dot = strrchr(entry->d_name, '.');
		if (!dot || strcmp(dot, ".record") != 0)
			continue;
		path = xasprintf("%s/%s", dir, entry->d_name);
		f = fopen(path, "re");
		if (f) {
			recording_add(r, f);
			fclose(f);
		}
		free(path);
	}
	if (d)
		closedir(d);
}
