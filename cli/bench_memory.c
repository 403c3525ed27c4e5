/* SPDX-License-Identifier: MIT */
/*
 * Memory as benches need it.
 *
 * All cases of a bench map and fill their block by the functions here, also
 * where the library could do it: what is compared is how it is given back.
 *
 * A process that goes over the limit of its control group is killed, not
 * refused, so the limits of all its groups are looked at beforehand.
 */
#include "bench_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { FILL_STEP = 64 << 20 };

/* The number behind @key in a file of "key number" lines, in its unit. */
static uint64_t number_in(const char *path, const char *key, uint64_t none)
{
	size_t len = strlen(key);
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, len))
			continue;
		/* "max" of a group is no number: no limit */
		if (strspn(line + len, " \t0123456789"))
			none = strtoumax(line + len, NULL, 10);
		break;
	}
	if (f)
		fclose(f);
	return none;
}

/* A file that holds one number. */
static uint64_t number_of(const char *dir, const char *file, uint64_t none)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return number_in(path, "", none);
}

/* What a group may still use; file cache gives way. */
static uint64_t group_room(const char *dir, const char *limit,
			   const char *usage, const char *cache)
{
	uint64_t max = number_of(dir, limit, UINT64_MAX);
	uint64_t now = number_of(dir, usage, 0), file;
	char path[600];

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	file = number_in(path, cache, 0);
	now -= file < now ? file : now;
	return max > now ? max - now : 0;
}

/* The tightest of a group and all above it. */
static uint64_t tree_room(const char *root, char *group, bool v2)
{
	uint64_t room = UINT64_MAX, r;
	char dir[512], *slash;

	for (;;) {
		snprintf(dir, sizeof(dir), "%s%s", root, group);
		r = v2 ? group_room(dir, "memory.max", "memory.current",
				    "inactive_file ")
		       : group_room(dir, "memory.limit_in_bytes",
				    "memory.usage_in_bytes",
				    "total_inactive_file ");
		room = r < room ? r : room;
		slash = strrchr(group, '/');
		if (!slash || !*group)
			return room;
		*slash = '\0';
	}
}

static uint64_t groups_room(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	uint64_t room = UINT64_MAX, r = UINT64_MAX;
	char line[400], *path;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		path = strrchr(line, ':');
		if (!path)
			continue;
		if (!strncmp(line, "0::", 3))
			r = tree_room("/sys/fs/cgroup", path + 1, true);
		else if (strstr(line, ":memory:"))
			r = tree_room("/sys/fs/cgroup/memory", path + 1, false);
		room = r < room ? r : room;
	}
	if (f)
		fclose(f);
	return room;
}

uint64_t memory_available(void)
{
	uint64_t machine = number_in("/proc/meminfo", "MemAvailable:", 0) << 10;
	uint64_t groups = groups_room();

	return groups < machine ? groups : machine;
}

uint64_t memory_pool_pages(void)
{
	return number_of("/sys/kernel/mm/hugepages/hugepages-2048kB",
			 "free_hugepages", 0);
}

uint64_t memory_resident(void)
{
	const char *status = "/proc/self/status";

	return (number_in(status, "VmRSS:", 0) +
		number_in(status, "HugetlbPages:", 0))
	       << 10;
}

uint64_t memory_huge_bytes(const char *start)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uint64_t kib = 0;
	uintptr_t low, high, at = (uintptr_t)start;
	bool inside = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &low, &high) ==
		    2)
			inside = at >= low && at < high;
		else if (inside &&
			 sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib << 10;
}

static char *map_aligned(size_t bytes)
{
	size_t room = bytes + MEMORY_HUGE, head;
	char *p = mmap(NULL, room, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)p & (MEMORY_HUGE - 1);
	if (head)
		munmap(p, head);
	if (room - head - bytes)
		munmap(p + head + bytes, room - head - bytes);
	return p + head;
}

char *memory_map(size_t bytes, enum bench_pages pages)
{
	char *p;

	if (pages == BENCH_HUGETLB) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	p = map_aligned(bytes);
	/* refused by a kernel that has no huge pages: nothing to switch off */
	if (p && pages == BENCH_4K)
		madvise(p, bytes, MADV_NOHUGEPAGE);
	if (p && pages == BENCH_THP && madvise(p, bytes, MADV_HUGEPAGE)) {
		munmap(p, bytes);
		return NULL;
	}
	return p;
}

struct fill {
	char *start;
	size_t bytes;
	atomic_size_t next;
	atomic_int error;
};

static int fill_part(char *p, size_t bytes)
{
	size_t i;

	if (!madvise(p, bytes, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return errno;
	for (i = 0; i < bytes; i += MEMORY_PAGE)
		((volatile char *)p)[i] = 1;
	return 0;
}

static void *fill_some(void *arg)
{
	struct fill *f = arg;
	size_t at, len;
	int error;

	while ((at = atomic_fetch_add(&f->next, FILL_STEP)) < f->bytes) {
		len = f->bytes - at;
		len = len < FILL_STEP ? len : FILL_STEP;
		error = fill_part(f->start + at, len);
		if (error)
			atomic_store(&f->error, error);
	}
	return NULL;
}

int memory_fill(char *start, size_t bytes)
{
	struct fill f = { .start = start, .bytes = bytes };
	pthread_t other;
	bool two = !pthread_create(&other, NULL, fill_some, &f);

	fill_some(&f);
	if (two)
		pthread_join(other, NULL);
	return -atomic_load(&f.error);
}
