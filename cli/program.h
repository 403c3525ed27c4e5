/* SPDX-License-Identifier: MIT */
/*
 * What kind of program is it, and can a preload library serve it?
 */
#ifndef QUIRE_CLI_PROGRAM_H
#define QUIRE_CLI_PROGRAM_H

#include <stdbool.h>

enum program_kind {
	PROGRAM_SERVABLE, /* as far as its file tells */
	PROGRAM_UNKNOWN,  /* its file cannot be read or understood */
	PROGRAM_STATIC,
	PROGRAM_GO, /* static, made by Go */
	PROGRAM_MUSL,
	PROGRAM_OTHER_LIBC,
	PROGRAM_OTHER_MACHINE, /* 32-bit, or of another processor */
	PROGRAM_PRIVILEGED,    /* set-uid, set-gid or file capabilities */
	PROGRAM_OWN_MALLOC,    /* the executable defines malloc itself */
	PROGRAM_ASAN,	       /* AddressSanitizer's library must come first */
};

struct program {
	enum program_kind kind;
	char *path;  /* of the program behind scripts; to be freed */
	bool script; /* it was reached through a #! line */
};

/* program_look - find out about the file @path with arguments @argv */
void program_look(const char *path, char *const *argv, struct program *out);
void program_free(struct program *p);

/* program_refused - is it sure that a preload cannot serve it? */
bool program_refused(const struct program *p);

/*
 * program_harmed - would a preload library keep it from starting?
 * musl's loader ends a program over a library that was made for glibc, and
 * AddressSanitizer one in which another library comes before its own.
 */
bool program_harmed(const struct program *p);

/* program_reads_tunables - does the file hold the names of glibc's tunables? */
bool program_reads_tunables(const struct program *p);

/* program_reason - "it is a static program", for program_refused() */
const char *program_reason(const struct program *p);

#endif /* QUIRE_CLI_PROGRAM_H */
