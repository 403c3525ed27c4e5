/* SPDX-License-Identifier: MIT */
/* See probe.h. */
#include "os/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "os/os.h"

/* A system call as 0-or-more or -errno, errno untouched. */
#define PROBE(...)                                                             \
	__extension__({                                                        \
		int probe_saved = errno;                                       \
		long probe_result = syscall(__VA_ARGS__);                      \
		if (probe_result == -1)                                        \
			probe_result = -errno;                                 \
		errno = probe_saved;                                           \
		probe_result;                                                  \
	})

/*
 * rseq.  glibc says by symbols whether it registered; weak, so that a libc
 * without them gives NULL.  Whether somebody else did can only be found out by
 * trying: a second registration is refused with EINVAL.
 */
extern const unsigned int glibc_rseq_size __asm__("__rseq_size")
	__attribute__((weak));

#define RSEQ_AREA_SIZE	32
#define RSEQ_UNREGISTER 1
#define RSEQ_SIGNATURE	0x53053053

static int try_rseq(void)
{
	struct {
		uint32_t cpu_id_start, cpu_id;
		uint64_t rseq_cs;
		uint32_t flags, rest[3];
	} __attribute__((aligned(RSEQ_AREA_SIZE))) area = { .cpu_id = -1u };
	long result = PROBE(SYS_rseq, &area, RSEQ_AREA_SIZE, 0, RSEQ_SIGNATURE);

	if (!result)
		PROBE(SYS_rseq, &area, RSEQ_AREA_SIZE, RSEQ_UNREGISTER,
		      RSEQ_SIGNATURE);
	return (int)result;
}

static bool rseq_off_by_tunable(void)
{
	const char *tunables = getenv("GLIBC_TUNABLES");

	return tunables && strstr(tunables, "glibc.pthread.rseq=0");
}

void os_probe_rseq(struct os_rseq *out)
{
	*out = (struct os_rseq){ .tunable_off = rseq_off_by_tunable() };
	if (&glibc_rseq_size && glibc_rseq_size) {
		out->owner = OS_RSEQ_GLIBC;
		out->size = glibc_rseq_size;
		return;
	}
	out->error = try_rseq();
	if (!out->error)
		out->owner = OS_RSEQ_NOBODY;
	else if (out->error == -EINVAL || out->error == -EBUSY)
		out->owner = OS_RSEQ_OTHER;
	else
		out->owner = OS_RSEQ_MISSING;
}

int os_probe_membarrier(void)
{
	return (int)PROBE(SYS_membarrier, 0 /* query */, 0, 0);
}

/* Ask for the default policy on a page of our own: changes nothing. */
int os_probe_mbind(void)
{
	void *page;
	int error = os->map(PAGE_SIZE, PAGE_SIZE, &page);

	if (error)
		return error;
	error = (int)PROBE(SYS_mbind, page, PAGE_SIZE, 0 /* default */, NULL,
			   0UL, 0U);
	os->unmap(page, PAGE_SIZE);
	return error;
}

int os_probe_io_uring(void)
{
	uint32_t params[30] = { 0 }; /* struct io_uring_params, all defaults */
	long fd = PROBE(SYS_io_uring_setup, 1, params);

	if (fd < 0)
		return (int)fd;
	PROBE(SYS_close, (int)fd);
	return 0;
}

/* What quire does to its own memory, done to one huge page's worth. */

static int try_discard(char *page)
{
	int error;

	page[0] = 1;
	error = os->advise(page, PAGE_SIZE, OS_DISCARD);
	if (error)
		return error;
	return page[0] ? -EIO : 0;
}

static int try_move(void **page)
{
	void *place;
	int error = os->reserve(PAGE_SIZE, PAGE_SIZE, &place);

	if (error)
		return error;
	error = os->move(*page, PAGE_SIZE, place, PAGE_SIZE);
	if (error)
		os->unmap(place, PAGE_SIZE);
	else
		*page = place;
	return error;
}

static int try_huge(void)
{
	void *unit;
	int error = os->map(HUGE_SIZE, HUGE_SIZE, &unit);

	if (error)
		return error;
	error = os->advise(unit, HUGE_SIZE, OS_HUGE);
	os->unmap(unit, HUGE_SIZE);
	return error;
}

void os_probe_memory_calls(struct os_memory_calls *out)
{
	void *page;
	int error = os->map(PAGE_SIZE, PAGE_SIZE, &page);

	*out = (struct os_memory_calls){ error, error, error, error, error };
	if (error)
		return;
	out->discard = try_discard(page);
	out->populate = os->advise(page, PAGE_SIZE, OS_POPULATE);
	out->move = try_move(&page);
	out->huge = try_huge();
	os->unmap(page, PAGE_SIZE);
}

void os_probe_clock(struct os_clock *out)
{
	struct timespec step = { 0, 0 };
	int saved = errno;

	clock_getres(CLOCK_MONOTONIC_COARSE, &step);
	out->vdso = getauxval(AT_SYSINFO_EHDR) != 0;
	out->resolution_ns =
		(uint64_t)step.tv_sec * 1000000000 + (uint64_t)step.tv_nsec;
	errno = saved;
}

bool os_probe_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

/* The stack lies at the top of what the kernel hands out unasked. */
unsigned int os_probe_address_bits(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return 64 - (unsigned int)__builtin_clzll(here | 1);
}

size_t os_probe_page_size(void)
{
	return getauxval(AT_PAGESZ);
}

const char *os_probe_glibc(void)
{
	return gnu_get_libc_version();
}

void os_probe_kernel(char *buf, size_t len)
{
	struct utsname name;
	size_t n;

	if (!len)
		return;
	if (uname(&name))
		name.release[0] = 0;
	n = min_size(strlen(name.release), len - 1);
	memcpy(buf, name.release, n);
	buf[n] = 0;
}

bool os_version_at_least(const char *text, unsigned int major,
			 unsigned int minor)
{
	unsigned int part[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		for (; *text >= '0' && *text <= '9' && part[i] < 100000; text++)
			part[i] = part[i] * 10 + (unsigned int)(*text - '0');
		if (*text != '.')
			break;
		text++;
	}
	return part[0] > major || (part[0] == major && part[1] >= minor);
}

uint64_t os_probe_rlimit(enum os_rlimit which)
{
	static const int kinds[] = {
		[OS_RLIMIT_AS] = RLIMIT_AS,
		[OS_RLIMIT_DATA] = RLIMIT_DATA,
		[OS_RLIMIT_MEMLOCK] = RLIMIT_MEMLOCK,
	};
	struct rlimit limit;

	if (getrlimit(kinds[which], &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/* Files */

int os_file_line(const char *path, char *buf, size_t len)
{
	long got = os->read_file(path, buf, len);

	if (got < 0)
		return (int)got;
	buf[strcspn(buf, "\n")] = 0;
	return (int)strlen(buf);
}

int os_file_choice(const char *path, char *buf, size_t len)
{
	int got = os_file_line(path, buf, len);
	char *open, *close;

	if (got < 0)
		return got;
	open = strchr(buf, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close)
		return got;
	got = (int)(close - open - 1);
	memmove(buf, open + 1, (size_t)got);
	buf[got] = 0;
	return got;
}

static int parse_leading(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	while (*text == ' ' || *text == '\t')
		text++;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return -ERANGE;
	*out = n;
	return 0;
}

int os_file_number(const char *path, uint64_t *out)
{
	char text[64];
	long got = os->read_file(path, text, sizeof(text));

	return got < 0 ? (int)got : parse_leading(text, out);
}

int os_file_field(const char *path, const char *name, uint64_t *out)
{
	char text[8192];
	size_t len = strlen(name);
	long got = os->read_file(path, text, sizeof(text));

	if (got < 0)
		return (int)got;
	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, len))
			return parse_leading(at + len, out);
	}
	return -ENODATA;
}

static long count_lines(int fd)
{
	char text[4096];
	long lines = 0;
	long got;

	while ((got = PROBE(SYS_read, fd, text, sizeof(text))) > 0)
		for (long i = 0; i < got; i++)
			lines += text[i] == '\n';
	return got < 0 ? got : lines;
}

long os_file_lines(const char *path)
{
	long fd = PROBE(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long lines;

	if (fd < 0)
		return fd;
	lines = count_lines((int)fd);
	PROBE(SYS_close, (int)fd);
	return lines;
}
