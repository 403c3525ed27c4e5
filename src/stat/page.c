/* SPDX-License-Identifier: MIT */
/*
 * The record of one process: a file of one page, mapped shared, so that what
 * was written last survives however the process ends.
 *
 *	+-------+---------+----------+-------+--------------------------------+
 *	| magic | version | sequence | image | the fields of quire_process    |
 *	+-------+---------+----------+-------+--------------------------------+
 *
 * [R1] sequence is odd while somebody writes.  A reader takes two copies and
 *      believes them if they are the same and the sequence is even.
 * [R2] a writer owns the page by making the sequence odd with a
 *      compare-and-swap.  It waits for another writer for a short bound only
 *      and then writes all the same: that other one may be the code that our
 *      signal handler interrupted, or a thread that is gone.
 * [R3] the file belongs to an image of a process (self_image, pid): the first
 *      of our libraries to come clears a file that belongs to another one (the
 *      pid was used before, or the same process called exec), the next ones
 *      only add their `loaded` bit.  A forked child has its parent's image but
 *      another pid; a pid that comes round again within one family of forks is
 *      told apart by the time the process was born.
 *
 * So after exec the record describes the new program; if that does not load
 * our library, the record of the old one stays and says ended=0.
 *
 * Why a mapping and not write(2) at the end: programs close all descriptors,
 * change root, give up their rights, and are killed.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"
#include "os/self.h"
#include "stat/page.h"

#define PAGE_MAGIC   0x65726975512d3137u
#define PAGE_VERSION 1
#define WRITER_SPINS 2000
#define READER_TRIES 32

struct stat_page {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_counters;
	uint32_t sequence; /* atomic [R1] */
	uint32_t pid;
	uint64_t image; /* [R3] */
	uint64_t born;	/* [R3] clock ticks after boot */
	/* whoever made sequence odd */
	uint32_t parent;
	uint32_t loaded;
	uint32_t ended;
	uint32_t unused;
	uint64_t start_ns;
	uint64_t last_user_ns;
	uint64_t rss_end;
	uint64_t rss_peak;
	uint64_t threads_peak;
	char exe[256];
	char malloc_from[256];
	char next_from[256];
	uint64_t counter[QUIRE_NR_COUNTERS];
};

_Static_assert(sizeof(struct stat_page) <= STAT_PAGE_SIZE, "one page");
_Static_assert(STAT_PAGE_SIZE == PAGE_SIZE, "the page is a page");

/* This library's view.  Written by its constructor and in forked children. */
static struct {
	struct stat_page *page; /* NULL: no record */
	uint32_t pid;		/* whose page that is */
	uint32_t loaded;
	uint32_t *fork_word; /* 0: we are a child that nobody told us of */
	char dir[4000];
} own;

static void copy_text(char *to, const char *from, size_t len)
{
	size_t n = strnlen(from, len - 1);

	memcpy(to, from, n);
	memset(to + n, 0, len - n);
}

/* [R2] Returns the sequence that page_release must store. */
static uint32_t page_acquire(struct stat_page *page)
{
	uint32_t seen = 0;

	for (int i = 0; i < WRITER_SPINS; i++) {
		seen = load_relaxed(&page->sequence);
		/* pairs with the release in page_release */
		if (!(seen & 1) && cas_acquire(&page->sequence, seen, seen + 1))
			break;
	}
	return (seen | 1) + 1;
}

static void page_release(struct stat_page *page, uint32_t sequence)
{
	/* pairs with the acquire in page_acquire, and with the reader */
	store_release(&page->sequence, sequence);
}

/* /proc/self/status: the number after @key, 0 if it is not there. */
static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	uint64_t value = 0;

	if (!at)
		return 0;
	for (at += strlen(key); *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

struct self_status {
	uint64_t rss, peak, threads;
};

static struct self_status look_at_self(void)
{
	char text[4096];
	struct self_status now = { 0, 0, 0 };

	if (os->read_file("/proc/self/status", text, sizeof(text)) > 0) {
		now.peak = number_after(text, "\nVmHWM:") << 10;
		now.rss = number_after(text, "\nVmRSS:") << 10;
		now.threads = number_after(text, "\nThreads:");
	}
	if (!now.peak)
		now.peak = self_peak_rss();
	return now;
}

/* Field 22 of /proc/self/stat; the name before it may hold anything. */
static uint64_t look_at_birth(void)
{
	char text[1024];
	uint64_t value = 0;
	char *at;

	if (os->read_file("/proc/self/stat", text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : NULL; at && *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

static bool page_is_ours(const struct stat_page *page, uint64_t born)
{
	return page->magic == PAGE_MAGIC && page->version == PAGE_VERSION &&
	       page->nr_counters == QUIRE_NR_COUNTERS && page->pid == own.pid &&
	       page->image == self_image() && page->born == born;
}

/* Clears the sequence too: [R2] bounds the wait on garbage. */
static void page_start(struct stat_page *page, uint64_t born)
{
	uint32_t sequence = page_acquire(page);

	memset((char *)page + offsetof(struct stat_page, pid), 0,
	       sizeof(*page) - offsetof(struct stat_page, pid));
	page->magic = PAGE_MAGIC;
	page->version = PAGE_VERSION;
	page->nr_counters = QUIRE_NR_COUNTERS;
	page->pid = own.pid;
	page->parent = self_parent();
	page->image = self_image();
	page->born = born;
	page->start_ns = self_now_ns();
	self_exe(page->exe, sizeof(page->exe));
	page_release(page, sequence);
}

/* DIR/PID. */
static int page_path(char *path, size_t len)
{
	char digits[12];
	size_t at = sizeof(digits) - 1;
	size_t dir = strlen(own.dir);
	uint32_t pid = own.pid;

	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	if (dir + 1 + sizeof(digits) - at > len)
		return -ENAMETOOLONG;
	memcpy(path, own.dir, dir);
	path[dir] = '/';
	memcpy(path + dir + 1, digits + at, sizeof(digits) - at);
	return 0;
}

static int page_map(void)
{
	char path[4096];
	void *mapped;
	int error = page_path(path, sizeof(path));

	if (error)
		return error;
	if (!self_may_write(STAT_PAGE_SIZE))
		return -EFBIG;
	error = os->share(path, STAT_PAGE_SIZE, &mapped);
	if (error)
		return error;
	/* A full disk is an error here and a SIGBUS later. */
	error = os->advise(mapped, STAT_PAGE_SIZE, OS_POPULATE);
	if (error && error != -EINVAL) {
		os->unmap(mapped, STAT_PAGE_SIZE);
		return error;
	}
	own.page = mapped;
	return 0;
}

static int page_create(void)
{
	uint64_t born = look_at_birth();
	uint32_t sequence;
	int error;

	own.pid = self_pid();
	error = page_map();
	if (error)
		return error;
	if (!page_is_ours(own.page, born))
		page_start(own.page, born);
	sequence = page_acquire(own.page);
	own.page->loaded |= own.loaded;
	page_release(own.page, sequence);
	return 0;
}

int stat_page_open(const char *dir, uint32_t loaded)
{
	if (own.page)
		return -EALREADY;
	if (strnlen(dir, sizeof(own.dir)) == sizeof(own.dir))
		return -ENAMETOOLONG;
	copy_text(own.dir, dir, sizeof(own.dir));
	own.loaded = loaded;
	own.fork_word = self_fork_word();
	return page_create();
}

void stat_page_close(void)
{
	if (own.page)
		os->unmap(own.page, STAT_PAGE_SIZE);
	own.page = NULL;
}

void stat_page_child(void)
{
	char malloc_from[sizeof(own.page->malloc_from)];
	char next_from[sizeof(own.page->next_from)];

	if (!own.page)
		return;
	copy_text(malloc_from, own.page->malloc_from, sizeof(malloc_from));
	copy_text(next_from, own.page->next_from, sizeof(next_from));
	stat_page_close();
	if (own.fork_word)
		store_relaxed(own.fork_word, 1);
	if (!page_create())
		stat_page_sources(malloc_from, next_from);
}

/* True where the page is this process's, after making it so if need be. */
static bool page_is_mine(void)
{
	if (own.page && own.fork_word && !load_relaxed(own.fork_word))
		stat_page_child();
	return own.page && own.pid == self_pid();
}

void stat_page_sources(const char *malloc_from, const char *next_from)
{
	uint32_t sequence;

	if (!page_is_mine())
		return;
	sequence = page_acquire(own.page);
	if (malloc_from)
		copy_text(own.page->malloc_from, malloc_from,
			  sizeof(own.page->malloc_from));
	if (next_from)
		copy_text(own.page->next_from, next_from,
			  sizeof(own.page->next_from));
	page_release(own.page, sequence);
}

/* Between acquire and release. */
static void write_counters(struct stat_page *page, const uint64_t *counter,
			   uint64_t threads)
{
	if (counter)
		memcpy(page->counter, counter, sizeof(page->counter));
	if (threads > page->threads_peak)
		page->threads_peak = threads;
}

void stat_page_publish(const uint64_t *counter)
{
	struct self_status now;
	uint32_t sequence;

	if (!page_is_mine())
		return;
	now = look_at_self();
	sequence = page_acquire(own.page);
	write_counters(own.page, counter, now.threads);
	page_release(own.page, sequence);
}

void stat_page_end(const uint64_t *counter)
{
	struct self_status now;
	uint32_t sequence;

	if (!page_is_mine())
		return;
	now = look_at_self();
	sequence = page_acquire(own.page);
	write_counters(own.page, counter, now.threads);
	own.page->rss_end = now.rss;
	own.page->rss_peak = now.peak;
	own.page->ended = 1;
	own.page->last_user_ns = self_now_ns();
	page_release(own.page, sequence);
}

static void unpack(const struct stat_page *page, struct quire_process *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->pid = page->pid;
	out->parent = page->parent;
	out->loaded = page->loaded;
	out->ended = page->ended;
	out->start_ns = page->start_ns;
	out->last_user_ns = page->last_user_ns;
	out->rss_end = page->rss_end;
	out->rss_peak = page->rss_peak;
	out->threads_peak = page->threads_peak;
	copy_text(out->exe, page->exe, sizeof(out->exe));
	copy_text(out->malloc_from, page->malloc_from,
		  sizeof(out->malloc_from));
	copy_text(out->next_from, page->next_from, sizeof(out->next_from));
	memcpy(out->counter, page->counter, sizeof(out->counter));
}

int stat_page_parse(const void *bytes, size_t len, struct quire_process *out)
{
	struct stat_page page;

	if (len != STAT_PAGE_SIZE)
		return -EBADMSG;
	memcpy(&page, bytes, sizeof(page));
	if (page.magic != PAGE_MAGIC || page.version != PAGE_VERSION ||
	    page.nr_counters != QUIRE_NR_COUNTERS || (page.sequence & 1) ||
	    !page.pid)
		return -EBADMSG;
	unpack(&page, out);
	return 0;
}

/* [R1] Two looks that agree, and the page at rest in both. */
int stat_page_read(const char *path, struct quire_process *out)
{
	char first[STAT_PAGE_SIZE + 2], second[STAT_PAGE_SIZE + 2];
	long len = os->read_file(path, first, sizeof(first));
	int error = -EBADMSG;

	for (int i = 0; i < READER_TRIES && len >= 0; i++) {
		long again = os->read_file(path, second, sizeof(second));

		if (again == len && !memcmp(first, second, (size_t)len)) {
			error = stat_page_parse(first, (size_t)len, out);
			if (!error)
				return 0;
		}
		if (again >= 0)
			memcpy(first, second, (size_t)again);
		len = again;
	}
	return len < 0 ? (int)len : error;
}
