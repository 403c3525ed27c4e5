/* SPDX-License-Identifier: MIT */
/*
 * The environment of a command.  setenv() on ourselves would do for `run`,
 * but `measure` needs a different one for each row, and the user's own
 * LD_PRELOAD and GLIBC_TUNABLES must be there in each of them.
 */
#include "variables.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

void variables_copy(struct variables *v, char *const *from)
{
	size_t i;

	for (v->nr = 0; from[v->nr]; v->nr++)
		;
	v->list = xcalloc(v->nr + 1, sizeof(*v->list));
	for (i = 0; i < v->nr; i++)
		v->list[i] = xstrdup(from[i]);
}

void variables_free(struct variables *v)
{
	size_t i;

	for (i = 0; i < v->nr; i++)
		free(v->list[i]);
	free(v->list);
	v->list = NULL;
	v->nr = 0;
}

static char **find(const struct variables *v, const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < v->nr; i++)
		if (strncmp(v->list[i], name, len) == 0 &&
		    v->list[i][len] == '=')
			return &v->list[i];
	return NULL;
}

const char *variables_get(const struct variables *v, const char *name)
{
	char **slot = find(v, name);

	return slot ? *slot + strlen(name) + 1 : NULL;
}

void variables_set(struct variables *v, const char *name, const char *value)
{
	char **slot = find(v, name);
	char *text = xasprintf("%s=%s", name, value);

	if (slot) {
		free(*slot);
		*slot = text;
		return;
	}
	v->list = xrealloc(v->list, v->nr + 2, sizeof(*v->list));
	v->list[v->nr++] = text;
	v->list[v->nr] = NULL;
}

/* Set @name to "@first@sep@second", or to the one that is not empty. */
static void join(struct variables *v, const char *name, const char *first,
		 char sep, const char *second)
{
	char *text;

	if (!first || !*first)
		text = xstrdup(second ? second : "");
	else if (!second || !*second)
		text = xstrdup(first);
	else
		text = xasprintf("%s%c%s", first, sep, second);
	variables_set(v, name, text);
	free(text);
}

void variables_add_preload(struct variables *v, const char *libs)
{
	join(v, "LD_PRELOAD", libs, ':', variables_get(v, "LD_PRELOAD"));
}

void variables_add_tunables(struct variables *v, const char *tunables)
{
	join(v, "GLIBC_TUNABLES", variables_get(v, "GLIBC_TUNABLES"), ':',
	     tunables);
}

void variables_add_options(struct variables *v, const char *options)
{
	join(v, "QUIRE_OPTIONS", variables_get(v, "QUIRE_OPTIONS"), ',',
	     options);
}
