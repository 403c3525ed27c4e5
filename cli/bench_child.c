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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_WORDS = 12, CHILD_ANSWERS = 16 };

#define CHILD_TICKS_S 0.03

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

struct answer {
	char metric[32];
	double value;
};

/* What one run said, and how quiet it was. */
struct answers {
	size_t nr;
	struct answer list[CHILD_ANSWERS];
	double took_s, others, steal;
};

static int read_answers(int fd, struct answers *out)
{
	FILE *f = fdopen(fd, "r");
	struct answer *a = out->list;
	char text[64];

	while (f && out->nr < CHILD_ANSWERS &&
	       fscanf(f, "%31s %63s", a->metric, text) == 2) {
		a->value = strtod(text, NULL);
		a++;
		out->nr++;
	}
	if (f)
		fclose(f);
	else
		close(fd);
	return out->nr ? 0 : CLI_OWN;
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

static int run(struct bench *b, const char *const *words, bool preload,
	       const char *dir, struct answers *out)
{
	struct child_result result;
	struct variables v;
	int fd[2], rc = 0;

	if (pipe2(fd, O_CLOEXEC)) {
		say("bench: no pipe: %s", strerror(errno));
		return CLI_OWN;
	}
	variables_copy(&v, environ);
	if (preload)
		rc = add_preload(&v, dir);
	load_begin(&b->load);
	if (!rc)
		rc = judge(&result, start(words, &v, fd[1], &result), words[1]);
	if (!load_end(&b->load, &out->others, &out->steal))
		out->others = out->steal = 0;
	close(fd[1]);
	if (rc) {
		close(fd[0]);
	} else {
		out->took_s = (double)(result.end_ns - result.start_ns) * 1e-9;
		rc = read_answers(fd[0], out);
	}
	if (!rc && preload)
		rc = check_served(dir, result.pid);
	variables_free(&v);
	return rc;
}

static int run_once(struct bench *b, const char *const *words, bool preload,
		    struct answers *out)
{
	char *dir = scratch_sub("run");
	int rc;

	if (!dir)
		return CLI_OWN;
	*out = (struct answers){ 0 };
	rc = run(b, words, preload, dir, out);
	scratch_remove(dir);
	free(dir);
	return rc;
}

/* /proc/stat counts in ticks: a few of them are nothing yet. */
static bool disturbed(const struct answers *a)
{
	return (a->others + a->steal) * a->took_s >
	       LOAD_BUSY * a->took_s + CHILD_TICKS_S;
}

static void keep(struct bench *b, const struct series_key *key,
		 const struct answers *a)
{
	struct series_key k;
	size_t i;

	b->took_s += a->took_s;
	b->others_s += a->others * a->took_s;
	b->steal_s += a->steal * a->took_s;
	b->disturbed += disturbed(a);
	for (i = 0; key && i < a->nr; i++) {
		k = *key;
		k.metric = a->list[i].metric;
		series_add(&b->series, &k, a->list[i].value);
	}
}

int bench_child(struct bench *b, const char *const *words,
		const struct series_key *key, bool preload)
{
	unsigned int wait_s = b->options->wait_s;
	uint64_t until = bench_now_ns() + wait_s * (uint64_t)1000000000;
	struct answers a;
	int rc;

	do {
		if (wait_s)
			load_wait(&b->load, wait_s);
		if (child_stopped())
			return CLI_SIGNAL + child_stopped();
		rc = run_once(b, words, preload, &a);
	} while (!rc && disturbed(&a) && bench_now_ns() < until);
	if (!rc)
		keep(b, key, &a);
	b->done++;
	return rc;
}
