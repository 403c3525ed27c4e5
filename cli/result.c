/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON.
 *
 * The samples are kept whole: medians and intervals can be made from them by
 * whoever reads the file, and two files can be compared with a better method
 * than the one that was used when they were written.
 */
#include "result.h"
#include "cli.h"
#include "text.h"

#include <quire/quire.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_SCHEMA = 1 };

struct result {
	json_t *root;
	json_t *params; /* borrowed from root, as the next */
	json_t *rows;
};

/* Text that is not UTF-8 (paths may be anything) is written escaped. */
static json_t *text_json(const char *s)
{
	json_t *j = json_string(s);
	char *safe, *o;

	if (j)
		return j;
	safe = xcalloc(strlen(s) * 4 + 1, 1);
	for (o = safe; *s; s++) {
		if ((unsigned char)*s < 0x80)
			*o++ = *s;
		else
			o += sprintf(o, "\\x%02x", (unsigned char)*s);
	}
	j = json_string(safe);
	free(safe);
	return j;
}

static json_t *number_json(double v)
{
	if (!isfinite(v))
		return json_null();
	if (v == floor(v) && fabs(v) < 9e15)
		return json_integer((json_int_t)v);
	return json_real(v);
}

static json_t *machine_json(const struct machine *m)
{
	json_t *j = json_object();

	json_object_set_new(j, "cpu", text_json(m->cpu));
	json_object_set_new(j, "cpus", json_integer(m->cpus));
	json_object_set_new(j, "memory_bytes",
			    json_integer((json_int_t)m->memory_bytes));
	json_object_set_new(j, "kernel", text_json(m->kernel));
	json_object_set_new(j, "libc", text_json(m->libc));
	json_object_set_new(j, "thp", text_json(m->thp));
	return j;
}

struct result *result_new(const struct machine *machine)
{
	struct result *r = xcalloc(1, sizeof(*r));

	r->root = json_object();
	r->params = json_object();
	r->rows = json_array();
	json_object_set_new(r->root, "schema", json_integer(RESULT_SCHEMA));
	json_object_set_new(r->root, "machine", machine_json(machine));
	json_object_set_new(r->root, "params", r->params);
	json_object_set_new(r->root, "rows", r->rows);
	result_text(r, "quire", quire_version());
	return r;
}

void result_free(struct result *r)
{
	if (r)
		json_decref(r->root);
	free(r);
}

void result_text(struct result *r, const char *key, const char *value)
{
	json_object_set_new(r->params, key, text_json(value));
}

void result_number(struct result *r, const char *key, double value)
{
	json_object_set_new(r->params, key, number_json(value));
}

void result_words(struct result *r, const char *key, char *const *words)
{
	json_t *list = json_array();

	for (; *words; words++)
		json_array_append_new(list, text_json(*words));
	json_object_set_new(r->params, key, list);
}

void result_note(struct result *r, const char *key, const char *name,
		 const char *value)
{
	json_t *notes = json_object_get(r->params, key);

	if (!notes) {
		notes = json_object();
		json_object_set_new(r->params, key, notes);
	}
	json_object_set_new(notes, name, text_json(value));
}

void result_process(struct result *r, const struct quire_process *p)
{
	json_t *list = json_object_get(r->params, "processes");
	int len = quire_process_json(p, NULL, 0);
	char *text = xcalloc((size_t)(len > 0 ? len : 0) + 1, 1);
	json_t *j = json_object();

	if (!list) {
		list = json_array();
		json_object_set_new(r->params, "processes", list);
	}
	quire_process_json(p, text, (size_t)len + 1);
	json_object_set_new(j, "pid", json_integer(p->pid));
	json_object_set_new(j, "exe", text_json(p->exe));
	json_object_set_new(j, "malloc_from", text_json(p->malloc_from));
	json_object_set_new(j, "next_from", text_json(p->next_from));
	json_object_set_new(j, "counters", json_loads(text, 0, NULL));
	json_array_append_new(list, j);
	free(text);
}

void result_row_of(struct result *r, const struct result_key *key,
		   const char *variant, const double *samples, size_t n)
{
	json_t *row = json_object(), *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list, number_json(samples[i]));
	json_object_set_new(row, "bench", json_string(key->bench));
	json_object_set_new(row, "case", json_string(key->name));
	json_object_set_new(row, "variant", json_string(variant));
	json_object_set_new(row, "metric", json_string(key->metric));
	json_object_set_new(row, "unit", json_string(key->unit));
	json_object_set_new(row, "better", json_string(key->better));
	json_object_set_new(row, "samples", list);
	json_array_append_new(r->rows, row);
}

void result_row(struct result *r, const struct result_key *key,
		const double *samples, size_t n)
{
	result_row_of(r, key, "", samples, n);
}

int result_write(const struct result *r, FILE *f)
{
	if (json_dumpf(r->root, f, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ||
	    fputc('\n', f) == EOF || fflush(f))
		return errno ? -errno : -EIO;
	return 0;
}
