/* SPDX-License-Identifier: MIT */
/*
 * The recorder's file.  It is put together in a static buffer and written in
 * one go, because it may be written from _exit in a signal handler: no stdio
 * stream, no allocation.  The text is cut where the buffer ends, and then it
 * lacks the line `end`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bits.h"
#include "object.h"
#include "os/self.h"
#include "record_report.h"
#include "record_tally.h"

#define TOP_SITES   10
#define TOP_CLASSES 32
#define PROBE_BYTES ((size_t)8 << 20)

/* const after start, but for pid, began and usage: those anew in a child */
static struct {
	char dir[4000];
	char malloc_from[1024];
	size_t threshold;
	uint64_t decay_ms;
	uint32_t pid; /* 0: nothing to be written */
	uint64_t began_ns;
	struct rusage usage;
} start;

/* the tally lock */
static struct {
	char text[96 << 10];
	size_t length;
	bool cut;
} out;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	size_t room = sizeof(out.text) - out.length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out.text + out.length, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		out.cut = true;
	else
		out.length += (size_t)n;
}

static void put_pair(const char *key, uint64_t value)
{
	put(" %s %llu", key, (unsigned long long)value);
}

/* A name inside a line of words. */
static void put_word(const char *text)
{
	for (; *text; text++) {
		bool plain = *text > ' ' && *text != ';' && *text != 127;

		put("%c", plain || (unsigned char)*text >= 128 ? *text : '?');
	}
}

/* A path at the end of a line. */
static void put_line(const char *key, const char *text)
{
	put("%s ", key);
	for (; *text; text++)
		put("%c", *text == '\n' ? '?' : *text);
	put("\n");
}

void report_child(void)
{
	start.pid = self_pid();
	start.began_ns = self_now_ns();
	getrusage(RUSAGE_SELF, &start.usage);
}

void report_start(const char *dir, const char *malloc_from, size_t threshold,
		  uint64_t decay_ms)
{
	snprintf(start.dir, sizeof(start.dir), "%s", dir);
	snprintf(start.malloc_from, sizeof(start.malloc_from), "%s",
		 malloc_from);
	start.threshold = threshold;
	start.decay_ms = decay_ms;
	report_child();
}

static uint64_t us_between(struct timeval from, struct timeval to)
{
	return (uint64_t)((to.tv_sec - from.tv_sec) * 1000000 + to.tv_usec -
			  from.tv_usec);
}

/* What a page costs that is bought, touched and given back. */
static uint64_t page_cost_ns(void)
{
	uint64_t began = self_now_ns();
	char *probe = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (probe == MAP_FAILED)
		return 0;
	for (size_t at = 0; at < PROBE_BYTES; at += 4096)
		((volatile char *)probe)[at] = 1;
	munmap(probe, PROBE_BYTES);
	return (self_now_ns() - began) / (PROBE_BYTES / 4096);
}

static void put_total(void)
{
	const struct tally_total *t = &tally.total;
	uint64_t wall = self_now_ns() - start.began_ns;
	uint64_t small_blocks, small_bytes;
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	tally_small_sum(&small_blocks, &small_bytes);
	put("total");
	put_pair("wall_us", wall / 1000);
	put_pair("user_us", us_between(start.usage.ru_utime, now.ru_utime));
	put_pair("system_us", us_between(start.usage.ru_stime, now.ru_stime));
	put_pair("minor_faults",
		 (uint64_t)(now.ru_minflt - start.usage.ru_minflt));
	put_pair("major_faults",
		 (uint64_t)(now.ru_majflt - start.usage.ru_majflt));
	put_pair("small_blocks", small_blocks);
	put_pair("small_bytes", small_bytes);
	put_pair("blocks", t->blocks);
	put_pair("bytes", t->bytes);
	put_pair("resized", t->resized);
	put_pair("live_bytes", t->live_bytes);
	put_pair("live_bytes_peak", t->live_bytes_peak);
	put_pair("reused", t->reused);
	put_pair("reused_bytes", t->reused_bytes);
	put_pair("refaulted_pages", t->refaulted_pages);
	put_pair("first_pages", t->first_pages);
	put_pair("page_ns", t->refaulted_pages ? page_cost_ns() : 0);
	put_pair("lost", t->lost);
	put("\n");
}

static void put_class(const struct tally_class *c)
{
	uint64_t gap_us = tally_gap_median(c) / 1000;
	int most = 0;

	for (int i = 1; i < TALLY_SIZES; i++)
		if (c->common[i].count > c->common[most].count)
			most = i;
	put("class %llu", (unsigned long long)c->common[most].size);
	put_pair("min", c->min);
	put_pair("max", c->max);
	put_pair("common_blocks", c->common[most].count);
	put_pair("blocks", c->blocks);
	put_pair("bytes", c->bytes);
	put_pair("resized", c->resized);
	put_pair("live", c->live);
	put_pair("live_peak", c->live_peak);
	put_pair("reused", c->reused);
	put_pair("refaulted_pages", c->refaulted_pages);
	put_pair("first_pages", c->first_pages);
	put(" reuse_gap_ms_median %llu.%03llu\n",
	    (unsigned long long)gap_us / 1000,
	    (unsigned long long)gap_us % 1000);
}

/* A rank of what is dear; ties are broken by the larger number of bytes. */
struct weight {
	uint64_t pages, bytes;
};

static bool heavier(struct weight a, struct weight b)
{
	return a.pages != b.pages ? a.pages > b.pages : a.bytes > b.bytes;
}

static struct weight class_weight(uint32_t i)
{
	const struct tally_class *c = &tally.class[i];

	return (struct weight){ c->refaulted_pages,
				c->bytes + (c->resized ? 1 : 0) };
}

static struct weight site_weight(uint32_t i)
{
	const struct tally_site *s = &tally.site[i];

	return (struct weight){ s->refaulted_pages, s->bytes };
}

/* The @nr heaviest of [0, @of), heaviest first; returns how many. */
static uint32_t pick(uint32_t *top, uint32_t nr, uint32_t of,
		     struct weight (*weigh)(uint32_t))
{
	uint32_t have = 0;

	for (uint32_t i = 0; i < of; i++) {
		struct weight w = weigh(i);
		uint32_t at = have;

		if (!w.pages && !w.bytes)
			continue;
		while (at && heavier(w, weigh(top[at - 1])))
			at--;
		if (at == nr)
			continue;
		have += have < nr;
		memmove(top + at + 1, top + at,
			(have - at - 1) * sizeof(top[0]));
		top[at] = i;
	}
	return have;
}

static void put_classes(void)
{
	uint32_t top[TOP_CLASSES];
	uint32_t nr = pick(top, TOP_CLASSES, TALLY_CLASSES, class_weight);

	for (uint32_t i = 0; i < nr; i++)
		put_class(&tally.class[top[i]]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *object_name(const struct object_place *place, char *exe,
			       size_t len)
{
	if (*place->path)
		return base_name(place->path);
	self_exe(exe, len);
	return base_name(exe);
}

/*
 * How far the name of an object is from being an answer to "who asked":
 * 2 the C library and ourselves, 1 what stands between it and the program.
 */
static int noise(const char *name)
{
	static const char *const libc[] = {
		"libc.so", "libc-", "ld-linux", "ld-", "libquire-", "linux-vdso"
	};
	static const char *const between[] = { "libstdc++", "libc++",
					       "libpython", "python",
					       "libpthread" };

	for (size_t i = 0; i < ARRAY_SIZE(libc); i++)
		if (!strncmp(name, libc[i], strlen(libc[i])))
			return 2;
	for (size_t i = 0; i < ARRAY_SIZE(between); i++)
		if (!strncmp(name, between[i], strlen(between[i])))
			return 1;
	return 0;
}

/* A return address belongs to the instruction before it. */
static int frame_place(void *frame, struct object_place *place)
{
	return object_find((char *)frame - 1, place);
}

static void put_frame(void *frame)
{
	struct object_place place;
	char exe[1024];

	if (frame_place(frame, &place)) {
		put("0x%llx", (unsigned long long)(uintptr_t)frame);
		return;
	}
	put_word(object_name(&place, exe, sizeof(exe)));
	if (place.symbol) {
		put(":");
		put_word(place.symbol);
		place.base = place.symbol_at;
	}
	put("+0x%llx", (unsigned long long)((uintptr_t)frame - place.base));
}

/* The frame that says most about who asked. */
static void *telling_frame(const struct tally_site *site)
{
	void *best = site->frame[0];
	int best_noise = 3;

	for (uint32_t i = 0; i < site->nr_frames; i++) {
		struct object_place place;
		char exe[1024];
		int n = 0;

		if (!frame_place(site->frame[i], &place))
			n = noise(object_name(&place, exe, sizeof(exe)));
		if (n < best_noise) {
			best = site->frame[i];
			best_noise = n;
		}
	}
	return best;
}

static void put_site(const struct tally_site *site)
{
	put("site %llu %llu %llu ", (unsigned long long)site->blocks,
	    (unsigned long long)site->bytes,
	    (unsigned long long)site->refaulted_pages);
	put_frame(telling_frame(site));
	for (uint32_t i = 0; i < site->nr_frames; i++) {
		put(i ? ";" : " ");
		put_frame(site->frame[i]);
	}
	put("\n");
}

static void put_sites(void)
{
	uint32_t top[TOP_SITES];
	uint32_t nr = pick(top, TOP_SITES, TALLY_SITES, site_weight);

	for (uint32_t i = 0; i < nr; i++)
		put_site(&tally.site[top[i]]);
}

static void put_all(void)
{
	char exe[1024];

	out.length = 0;
	out.cut = false;
	self_exe(exe, sizeof(exe));
	put("quire-record 1\nprocess pid %u parent %u\n", start.pid,
	    self_parent());
	put_line("exe", exe);
	put_line("malloc", start.malloc_from);
	put("threshold %zu\ndecay_ms %llu\n", start.threshold,
	    (unsigned long long)start.decay_ms);
	put_total();
	put_classes();
	put_sites();
	if (!out.cut)
		put("end\n");
}

static void write_all(void)
{
	char path[sizeof(start.dir) + 32];
	size_t done = 0;
	int fd;

	if (!self_may_write(sizeof(out.text)))
		return;
	snprintf(path, sizeof(path), "%s/%u.record", start.dir, start.pid);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return;
	while (done < out.length) {
		ssize_t n = write(fd, out.text + done, out.length - done);

		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	close(fd);
}

void report_write(void)
{
	int saved = errno;
	bool locked;

	if (!start.pid || start.pid != self_pid())
		return;
	locked = tally_lock_or_not();
	tally_count_live_locked();
	put_all();
	write_all();
	if (locked)
		tally_unlock();
	errno = saved;
}
