/* SPDX-License-Identifier: MIT */
/*
 * What kind of program is it, and can a preload library serve it?
 *
 * This is the forecast, made from files before anything runs; the records
 * that the processes leave behind are the proof.  A script is followed to the
 * interpreter of its #! line, and through env(1) to the program that env
 * names there, as deep as the kernel follows.
 */
#include "program.h"
#include "elf_file.h"
#include "paths.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	MAX_SCRIPTS = 5, /* what the kernel follows, and more through env */
	SCRIPT_LINE = 256,
};

/*
 * Does executing it change who we are?  Then ld.so runs in secure mode and
 * ignores preload libraries with a path.  Root gets nothing new from a file
 * that belongs to root, and with no_new_privs nobody does.
 */
static bool is_privileged(int fd)
{
	struct stat st;
	char caps;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || fstat(fd, &st))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    st.st_gid != getgid())
		return true;
	if (getuid() == 0)
		return false;
	return fgetxattr(fd, "security.capability", &caps, 0) > 0;
}

static enum program_kind kind_of_interpreter(const char *interpreter)
{
	const char *base = text_base(interpreter);

	if (strncmp(base, "ld-musl", 7) == 0)
		return PROGRAM_MUSL;
	if (strncmp(base, "ld-linux", 8) == 0 || !strcmp(base, "ld.so.1") ||
	    !strcmp(base, "ld64.so.1") || !strcmp(base, "ld64.so.2"))
		return PROGRAM_SERVABLE;
	return PROGRAM_OTHER_LIBC;
}

static enum program_kind kind_of_elf(int fd, const char *path)
{
	struct elf_facts facts;
	enum program_kind kind;

	if (elf_look(fd, &facts))
		return PROGRAM_UNKNOWN;
	if (!facts.native)
		return PROGRAM_OTHER_MACHINE;
	if (!facts.dynamic) {
		/* ld.so itself, called with the name of a program */
		if (strncmp(text_base(path), "ld-linux", 8) == 0)
			return PROGRAM_UNKNOWN;
		return facts.go ? PROGRAM_GO : PROGRAM_STATIC;
	}
	kind = kind_of_interpreter(facts.interpreter);
	if (kind == PROGRAM_SERVABLE && is_privileged(fd))
		return PROGRAM_PRIVILEGED;
	if (kind == PROGRAM_SERVABLE && facts.needs_asan)
		return PROGRAM_ASAN;
	if (kind == PROGRAM_SERVABLE && facts.defines_malloc)
		return PROGRAM_OWN_MALLOC;
	return kind;
}

/* The words of a #! line: the interpreter and what follows it. */
struct script_line {
	char text[SCRIPT_LINE];
	char *words[32];
	int nr;
};

static bool read_script_line(int fd, struct script_line *line)
{
	ssize_t n = pread(fd, line->text, sizeof(line->text) - 1, 0);
	char *save = NULL, *word;

	line->nr = 0;
	if (n < 3 || line->text[0] != '#' || line->text[1] != '!')
		return false;
	line->text[n] = '\0';
	line->text[strcspn(line->text, "\n")] = '\0';
	word = strtok_r(line->text + 2, " \t\r", &save);
	while (word && line->nr < 32) {
		line->words[line->nr++] = word;
		word = strtok_r(NULL, " \t\r", &save);
	}
	return line->nr > 0;
}

/*
 * The program that env(1) will execute: the first word that is neither an
 * option nor an assignment.  NULL if there is none.
 */
static const char *behind_env(char *const *words, int nr)
{
	int i;

	for (i = 1; i < nr; i++) {
		if (words[i][0] == '-') {
			if (!strcmp(words[i], "-u") || !strcmp(words[i], "-C"))
				i++;
			continue;
		}
		if (!strchr(words[i], '='))
			return words[i];
	}
	return NULL;
}

/* What is executed in place of the script; NULL if that cannot be found. */
static char *next_of_script(const struct script_line *line)
{
	const char *name = line->words[0];
	char *path = NULL;

	if (!strcmp(text_base(name), "env")) {
		name = behind_env(line->words, line->nr);
		if (!name)
			return NULL;
	}
	return paths_command(name, &path) == 0 ? path : NULL;
}

/* `env NAME=VALUE CMD` on the command line: look at CMD. */
static char *next_of_env(const char *path, char *const *argv)
{
	const char *name;
	char *next = NULL;
	int nr;

	if (strcmp(text_base(path), "env") != 0)
		return NULL;
	for (nr = 0; argv[nr]; nr++)
		;
	name = behind_env(argv, nr);
	if (!name || paths_command(name, &next))
		return NULL;
	return next;
}

/* Look at out->path; returns the next file to look at, or NULL. */
static char *look_once(struct program *out)
{
	struct script_line line;
	char *next = NULL;
	int fd = open(out->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	out->kind = PROGRAM_UNKNOWN;
	if (fd < 0)
		return NULL;
	if (read_script_line(fd, &line)) {
		out->script = true;
		next = next_of_script(&line);
	} else {
		out->kind = kind_of_elf(fd, out->path);
	}
	close(fd);
	return next;
}

void program_look(const char *path, char *const *argv, struct program *out)
{
	char *next = next_of_env(path, argv);
	int depth = 0;

	out->script = false;
	out->path = next ? next : xstrdup(path);
	while ((next = look_once(out)) && depth++ < MAX_SCRIPTS) {
		free(out->path);
		out->path = next;
	}
	free(next);
}

void program_free(struct program *p)
{
	free(p->path);
	p->path = NULL;
}

bool program_refused(const struct program *p)
{
	return p->kind != PROGRAM_SERVABLE && p->kind != PROGRAM_UNKNOWN;
}

bool program_harmed(const struct program *p)
{
	return p->kind == PROGRAM_MUSL || p->kind == PROGRAM_OTHER_LIBC ||
	       p->kind == PROGRAM_OTHER_MACHINE || p->kind == PROGRAM_ASAN;
}

/*
 * A static program made with glibc reads GLIBC_TUNABLES too; it then has
 * their names in it.  Chunks overlap by the length of the name.
 */
bool program_reads_tunables(const struct program *p)
{
	static const char name[] = "glibc.malloc.mmap_max";
	char chunk[32768 + sizeof(name)];
	off_t off = 0;
	ssize_t n;
	bool found = false;
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	while (fd >= 0 && !found &&
	       (n = pread(fd, chunk, sizeof(chunk), off)) > 0) {
		found = memmem(chunk, (size_t)n, name, sizeof(name) - 1);
		off += n < (ssize_t)sizeof(chunk) ? n : 32768;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

const char *program_reason(const struct program *p)
{
	static const char *const text[] = {
		[PROGRAM_SERVABLE] = "nothing stands in the way",
		[PROGRAM_UNKNOWN] = "its file cannot be read",
		[PROGRAM_STATIC] =
			"it is a static program: no loader, no preload",
		[PROGRAM_GO] =
			"it is a static Go program with its own memory manager",
		[PROGRAM_MUSL] =
			"it uses musl, and the library is made for glibc",
		[PROGRAM_OTHER_LIBC] = "its C library is not glibc",
		[PROGRAM_OTHER_MACHINE] =
			"it is for another architecture (or 32-bit)",
		[PROGRAM_PRIVILEGED] =
			"it is set-uid, set-gid or has file capabilities",
		[PROGRAM_OWN_MALLOC] =
			"it brings its own malloc in the executable",
		[PROGRAM_ASAN] =
			"it is built with AddressSanitizer, which brings its own malloc",
	};

	return text[p->kind];
}
