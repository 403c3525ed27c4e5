/* SPDX-License-Identifier: MIT */
/*
 * Where things are.
 *
 * The libraries must be named by absolute paths: the command may change its
 * directory before it starts others, and a name without a slash would be
 * searched in directories that the user's own program chooses.
 *
 * Other malloc libraries are looked for in the directory that our own libc
 * was loaded from (the multiarch directory, wherever the distribution has
 * it), those of ld.so.conf.d and the customary ones.
 */
#include "paths.h"
#include "text.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef QUIRE_LIBDIR
#define QUIRE_LIBDIR "/usr/local/lib/quire"
#endif

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The path DIR/SUB/FILE made absolute, or NULL if there is no such file. */
static char *library_in(const char *dir, const char *sub, const char *file)
{
	char *path = xasprintf("%s/%s%s", dir, sub, file);
	char *whole = is_file(path) ? realpath(path, NULL) : NULL;

	free(path);
	return whole;
}

static char *library_beside_us(const char *file)
{
	char exe[PATH_MAX];
	char *found, *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	found = library_in(exe, "../preload/", file);
	found = found ? found : library_in(exe, "../bench/peers/", file);
	return found ? found : library_in(exe, "", file);
}

char *paths_own_library(const char *file)
{
	const char *dir = secure_getenv("QUIRE_LIBDIR");
	char *found = NULL;

	if (dir && *dir)
		return library_in(dir, "", file);
	found = library_beside_us(file);
	return found ? found : library_in(QUIRE_LIBDIR, "", file);
}

/* dl_iterate_phdr callback: stop at libc and copy its path. */
static int note_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	char **out = arg;

	(void)size;
	if (strncmp(text_base(info->dlpi_name), "libc.so", 7) != 0)
		return 0;
	*out = xstrdup(info->dlpi_name);
	return 1;
}

static char *beside_libc(const char *file)
{
	char *libc = NULL, *found = NULL, *slash;

	dl_iterate_phdr(note_libc, &libc);
	slash = libc ? strrchr(libc, '/') : NULL;
	if (slash) {
		*slash = '\0';
		found = library_in(libc, "", file);
	}
	free(libc);
	return found;
}

/* The directories that one file of ld.so.conf.d names, a line each. */
static char *in_conf(const char *conf, const char *file)
{
	char line[PATH_MAX];
	char *found = NULL;
	FILE *f = fopen(conf, "re");

	if (!f)
		return NULL;
	while (!found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\r\n#")] = '\0';
		if (line[0] == '/')
			found = library_in(line, "", file);
	}
	fclose(f);
	return found;
}

static char *in_all_conf(const char *file)
{
	char *found = NULL;
	glob_t g;
	size_t i;

	if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &g) == 0)
		for (i = 0; !found && i < g.gl_pathc; i++)
			found = in_conf(g.gl_pathv[i], file);
	globfree(&g);
	return found;
}

char *paths_library(const char *file)
{
	static const char *const usual[] = { "/usr/local/lib", "/usr/lib64",
					     "/usr/lib", "/lib64", "/lib" };
	char *found = beside_libc(file);
	size_t i;

	if (!found)
		found = in_all_conf(file);
	for (i = 0; !found && i < sizeof(usual) / sizeof(*usual); i++)
		found = library_in(usual[i], "", file);
	return found;
}

static int try_command(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT : -EACCES;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

int paths_command(const char *name, char **out)
{
	const char *dir = getenv("PATH");
	int rc, best = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		rc = try_command(name);
		if (!rc)
			*out = xstrdup(name);
		return rc;
	}
	if (!dir)
		dir = "/bin:/usr/bin";
	for (;; dir++) {
		size_t len = strcspn(dir, ":");
		char *path = xasprintf("%.*s%s%s", (int)len, dir,
				       len ? "/" : "./", name);

		rc = try_command(path);
		if (!rc) {
			*out = path;
			return 0;
		}
		free(path);
		if (rc == -EACCES)
			best = rc;
		dir += len;
		if (!*dir)
			return best;
	}
}

bool paths_preloadable(const char *path)
{
	return !strpbrk(path, " :\t\n");
}
