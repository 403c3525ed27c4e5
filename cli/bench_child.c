/* SPDX-License-Identifier: MIT */
/*
 * One sample of a bench, from a process of its own.
 *
 * The child is this very program, found as /proc/self/exe, or one of those in
 * bench/peers.  It answers with lines of "metric value"; a pipe holds all of
 * them, so they are read when it has ended.  Its messages go where ours go.
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

enum { CHILD_WORDS = 24, CHILD_ANSWERS = 512 };

#define CHILD_TICKS_S 0.03

static int add_own(struct variables *v, const char *dir)
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

static int add_variables(struct variables *v, const struct bench_run *run,
			 const char *dir)
{
	const char *const *s = run->settings;

	for (; s && s[0] && s[1]; s += 2)
		variables_set(v, s[0], s[1]);
	if (run->library)
		variables_add_preload(v, run->library);
	return run->preload ? add_own(v, dir) : 0;
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
	char name[96]; /* METRIC, or VARIANT/METRIC */
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
	       fscanf(f, "%95s %63s", a->name, text) == 2) {
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

static int start(const struct bench_run *run, struct variables *v, int fd,
		 struct child_result *result)
{
	static const char *const own[] = { "quire", "bench" };
	char *argv[CHILD_WORDS] = { (char *)(uintptr_t)run->program };
	struct child_spec spec = { .path = run->program,
				   .argv = argv,
				   .envp = v->list,
				   .fd = { -1, fd, -1 } };
	int nr = 1, i;

	if (!run->program) {
		spec.path = "/proc/self/exe";
		for (nr = 0; nr < 2; nr++)
			argv[nr] = (char *)(uintptr_t)own[nr];
	}
	for (i = 0; run->words[i] && nr + 1 < CHILD_WORDS; i++)
		argv[nr++] = (char *)(uintptr_t)run->words[i];
	return child_run(&spec, result);
}

static int run_it(struct bench *b, const struct bench_run *run, const char *dir,
		  struct answers *out)
{
	const char *what = run->words[0] && run->words[1] && !run->program
				   ? run->words[1]
				   : run->program;
	struct child_result result;
	struct variables v;
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC)) {
		say("bench: no pipe: %s", strerror(errno));
		return CLI_OWN;
	}
	variables_copy(&v, environ);
	rc = add_variables(&v, run, dir);
	load_begin(&b->load);
	if (!rc)
		rc = judge(&result, start(run, &v, fd[1], &result), what);
	if (!load_end(&b->load, &out->others, &out->steal))
		out->others = out->steal = 0;
	close(fd[1]);
	if (rc) {
		close(fd[0]);
	} else {
		out->took_s = (double)(result.end_ns - result.start_ns) * 1e-9;
		rc = read_answers(fd[0], out);
	}
	if (!rc && run->preload)
		rc = check_served(dir, result.pid);
	variables_free(&v);
	return rc;
}

static int run_once(struct bench *b, const struct bench_run *run,
		    struct answers *out)
{
	char *dir = scratch_sub("run");
	int rc;

	if (!dir)
		return CLI_OWN;
	*out = (struct answers){ 0 };
	rc = run_it(b, run, dir, out);
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

static void keep_one(struct bench *b, const struct series_key *key,
		     struct answer *a)
{
	struct series_key k = *key;
	char *slash = strrchr(a->name, '/');

	k.metric = a->name;
	if (slash) {
		*slash = '\0';
		k.variant = a->name;
		k.metric = slash + 1;
	}
	series_add(&b->series, &k, a->value);
}

static void keep(struct bench *b, const struct series_key *key,
		 struct answers *a)
{
	size_t i;

	b->took_s += a->took_s;
	b->others_s += a->others * a->took_s;
	b->steal_s += a->steal * a->took_s;
	b->disturbed += disturbed(a);
	for (i = 0; key && i < a->nr; i++)
		keep_one(b, key, &a->list[i]);
}

int bench_child_of(struct bench *b, const struct bench_run *run,
		   const struct series_key *key)
{
	unsigned int wait_s = b->options->wait_s;
	uint64_t until = bench_now_ns() + wait_s * (uint64_t)1000000000;
	struct answers *a = xcalloc(1, sizeof(*a));
	int rc;

	do {
		if (wait_s)
			load_wait(&b->load, wait_s);
		rc = child_stopped() ? CLI_SIGNAL + child_stopped()
				     : run_once(b, run, a);
	} while (!rc && disturbed(a) && bench_now_ns() < until);
	if (!rc)
		keep(b, key, a);
	b->done++;
	free(a);
	return rc;
}

int bench_child(struct bench *b, const char *const *words,
		const struct series_key *key, bool preload)
{
	struct bench_run run = { .words = words, .preload = preload };

	return bench_child_of(b, &run, key);
}
