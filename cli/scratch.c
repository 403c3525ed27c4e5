/* SPDX-License-Identifier: MIT */
/*
 * The private directory of one `run` or `measure`.
 *
 * mkdtemp() makes it mode 0700 with a name that nobody can guess, so nobody
 * else can put a library or a record there.  atexit() removes it: every way
 * out goes through exit(), signals too, because the verbs only note them and
 * leave in order.
 */
#include "scratch.h"
#include "cli.h"
#include "paths.h"
#include "text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *scratch_dir; /* NULL: none */

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void scratch_remove(const char *dir)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void remove_all(void)
{
	if (scratch_dir)
		scratch_remove(scratch_dir);
}

/*
 * The path goes into LD_PRELOAD and QUIRE_OPTIONS: nothing that ends a word
 * there may be in it.
 */
static const char *base_dir(void)
{
	const char *tmp = secure_getenv("TMPDIR");

	if (tmp && tmp[0] == '/' && paths_preloadable(tmp) && !strchr(tmp, ','))
		return tmp;
	return "/tmp";
}

const char *scratch_open(void)
{
	char *dir;

	if (scratch_dir)
		return scratch_dir;
	dir = xasprintf("%s/quire-XXXXXX", base_dir());
	if (!mkdtemp(dir)) {
		say("cannot make a directory below %s: %s", base_dir(),
		    strerror(errno));
		free(dir);
		return NULL;
	}
	scratch_dir = dir;
	atexit(remove_all);
	return scratch_dir;
}

char *scratch_sub(const char *name)
{
	char *dir = xasprintf("%s/%s", scratch_dir, name);

	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return dir;
	say("cannot make %s: %s", dir, strerror(errno));
	free(dir);
	return NULL;
}

char *scratch_preloadable(char *path)
{
	char *link;

	if (paths_preloadable(path))
		return path;
	link = xasprintf("%s/%s", scratch_dir, text_base(path));
	if (symlink(path, link) && errno != EEXIST) {
		say("cannot link %s: %s", link, strerror(errno));
		free(link);
		link = NULL;
	}
	free(path);
	return link;
}
