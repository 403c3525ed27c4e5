/* SPDX-License-Identifier: MIT */
/*
 * The file of -o, "-" is standard output: opened before anything runs, so that
 * a wrong path costs nobody an hour of runs.
 */
#include "cli.h"
#include "result.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int result_target(const char *verb, const char *path, FILE **out)
{
	FILE *f;

	if (!RESULT_AVAILABLE)
		return usage_error(
			"%s: JSON needs jansson, and this quire was built without it",
			verb);
	f = strcmp(path, "-") ? fopen(path, "we") : fdopen(dup(1), "w");
	if (!f)
		return usage_error("%s: cannot write '%s': %s", verb, path,
				   strerror(errno));
	*out = f;
	return 0;
}
