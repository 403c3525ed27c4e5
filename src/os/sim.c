/* SPDX-License-Identifier: MIT */
/*
 * The table of sim.h.  It runs below malloc like any other table, so the
 * files are a fixed array of pointers to the test's own strings.
 */
#include "os/sim.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"

#define FILES_MAX 256

struct sim_file {
	const char *path;
	const char *text; /* NULL: not readable */
};

/* set by the test's thread; clock and reads: atomic, relaxed */
static struct sim_file files[FILES_MAX];
static unsigned int nr_files;
static uint64_t clock_ms;
static unsigned int reads;

struct os_ops os_sim;

static uint64_t sim_now_ms(void)
{
	return load_relaxed(&clock_ms);
}

static struct sim_file *find(const char *path)
{
	for (unsigned int i = 0; i < nr_files; i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

static long sim_read_file(const char *path, char *buf, size_t len)
{
	const struct sim_file *file = find(path);
	size_t n;

	add_relaxed(&reads, 1);
	if (!file)
		return -ENOENT;
	if (!file->text)
		return -EACCES;
	if (!len)
		return 0;
	n = min_size(strlen(file->text), len - 1);
	memcpy(buf, file->text, n);
	buf[n] = 0;
	return (long)n;
}

void sim_start(void)
{
	os_sim = os_kernel;
	os_sim.name = "sim";
	os_sim.now_ms = sim_now_ms;
	os_sim.read_file = sim_read_file;
	sim_files_clear();
	clock_ms = 0;
	reads = 0;
	os = &os_sim;
}

void sim_stop(void)
{
	os = &os_kernel;
}

void sim_advance_ms(uint64_t ms)
{
	add_relaxed(&clock_ms, ms);
}

void sim_file_set(const char *path, const char *text)
{
	struct sim_file *file = find(path);

	if (!file) {
		ASSERT(nr_files < FILES_MAX);
		file = &files[nr_files++];
		file->path = path;
	}
	file->text = text;
}

void sim_files_clear(void)
{
	nr_files = 0;
}

unsigned int sim_reads(void)
{
	return reads;
}
