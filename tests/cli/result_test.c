/* SPDX-License-Identifier: MIT */
/* The shape of a result: what docs/result-format.md promises. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "result.h"

static json_t *written(const struct result *r)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_t *j;

	assert_int_equal(result_write(r, f), 0);
	fclose(f);
	assert_true(text[len - 1] == '\n');
	j = json_loads(text, 0, NULL);
	assert_non_null(j);
	free(text);
	return j;
}

static const char *text_at(json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static void shape(void **state)
{
	double samples[] = { 1.5, NAN, 2 };
	struct result_key key = { "measure", "quire", "wall", "s", "lower" };
	struct machine m;
	struct result *r;
	json_t *j, *row, *list;

	(void)state;
	machine_look(&m);
	r = result_new(&m);
	result_text(r, "odd", "caf\xe9");
	result_note(r, "no_effect", "thp", "off");
	result_row(r, &key, samples, 3);
	j = written(r);
	assert_int_equal(json_integer_value(json_object_get(j, "schema")), 1);
	assert_true(json_is_object(json_object_get(j, "machine")));
	row = json_array_get(json_object_get(j, "rows"), 0);
	assert_string_equal(text_at(row, "bench"), "measure");
	assert_string_equal(text_at(row, "case"), "quire");
	assert_string_equal(text_at(row, "variant"), "");
	assert_string_equal(text_at(row, "metric"), "wall");
	assert_string_equal(text_at(row, "unit"), "s");
	assert_string_equal(text_at(row, "better"), "lower");
	list = json_object_get(row, "samples");
	assert_int_equal(json_array_size(list), 3);
	assert_true(json_number_value(json_array_get(list, 0)) == 1.5);
	assert_true(json_is_null(json_array_get(list, 1)));
	list = json_object_get(j, "params");
	assert_string_equal(text_at(list, "odd"), "caf\\xe9");
	assert_string_equal(text_at(json_object_get(list, "no_effect"), "thp"),
			    "off");
	json_decref(j);
	result_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shape) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
