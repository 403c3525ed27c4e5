/* SPDX-License-Identifier: MIT */
/*
 * One sample of a bench, from a process of its own.
 *
 * The child is this very program, found as /proc/self/exe.  It answers with
 * lines of "metric value"; a pipe holds all of them, so they are read when it
 * has ended.  Its messages go where ours go.
 */
#include "bench_child.h"
#include "child.h"
#include "cli.h"
#include "paths.h"
#include "scratch.h"
#include "tally.h"
#include "text.h"
#include "variables.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_WORDS = 12 };

static int add_preload(struct variables *v, const char *dir)
{
	char *library = paths_own_library("libquire-preload.so"), *options;

	if (library)
		library = scratch_preloadable(library);
	if (!library) {
		say("libquire-preload.so is not found; QUIRE_LIBDIR can name its directory");
		return CLI_OWN;
	}
	options = xasprintf("stat_dir=%s", dir);
	variables_add_preload(v, library);
	variables_add_options(v, options);
	free(options);
	free(library);
	return 0;
}

/* A case under the library that the library did not serve is as-is again. */
static int check_served(const char *dir, pid_t pid)
{
	struct tally t;

	tally_read(&t, dir, pid);
	if (t.counter[QUIRE_COUNTER_span_alloc])
		return 0;
	say("bench: the preload library did not serve the process");
	return CLI_OWN;
}

static int read_answers(struct bench *b, int fd, const struct series_key *key)
{
	struct series_key k = key ? *key : (struct series_key){ 0 };
	FILE *f = fdopen(fd, "r");
	char name[32], text[64];
	int nr = 0;

	while (f && fscanf(f, "%31s %63s", name, text) == 2) {
		k.metric = name;
		nr++;
		if (key)
			series_add(&b->series, &k, strtod(text, NULL));
	}
	if (f)
		fclose(f);
	else
		close(fd);
	return nr ? 0 : CLI_OWN;
}

static int judge(const struct child_result *r, int rc, const char *what)
{
	if (rc) {
		say("bench: cannot start a process: %s", strerror(-rc));
		return CLI_OWN;
	}
	if (child_stopped())
		return CLI_SIGNAL + child_stopped();
	if (WIFSIGNALED(r->status)) {
		say("bench: the process of %s was ended by signal %d%s", what,
		    WTERMSIG(r->status),
		    WTERMSIG(r->status) == 9 ? "; too little memory?" : "");
		return CLI_OWN;
	}
	return WEXITSTATUS(r->status);
}

static int start(const char *const *words, struct variables *v, int fd,
		 struct child_result *result)
{
	char *argv[CHILD_WORDS] = { (char *)(uintptr_t) "quire",
				    (char *)(uintptr_t) "bench" };
	struct child_spec spec = { .path = "/proc/self/exe",
				   .argv = argv,
				   .envp = v->list,
				   .fd = { -1, fd, -1 } };
	int i;

	for (i = 0; words[i] && i + 3 < CHILD_WORDS; i++)
		argv[i + 2] = (char *)(uintptr_t)words[i];
	return child_run(&spec, result);
}

int bench_child(struct bench *b, const char *const *words,
		const struct series_key *key, bool preload)
{
	struct child_result result;
	struct variables v;
	char *dir = scratch_sub("run");
	int fd[2], rc = 0;

	if (!dir)
		return CLI_OWN;
	if (pipe2(fd, O_CLOEXEC)) {
		say("bench: no pipe: %s", strerror(errno));
		free(dir);
		return CLI_OWN;
	}
	variables_copy(&v, environ);
	if (preload)
		rc = add_preload(&v, dir);
	if (!rc)
		rc = judge(&result, start(words, &v, fd[1], &result), words[1]);
	close(fd[1]);
	if (rc)
		close(fd[0]);
	else
		rc = read_answers(b, fd[0], key);
	if (!rc && preload)
		rc = check_served(dir, result.pid);
	b->done++;
	variables_free(&v);
	scratch_remove(dir);
	free(dir);
	return rc;
}
