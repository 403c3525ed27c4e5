/* SPDX-License-Identifier: MIT */
/*
 * See topology.h.  Sets of ids are bit maps of a fixed size, so nothing here
 * allocates but hwloc.
 */
#include "os/topology.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(HAVE_HWLOC) && HAVE_HWLOC
#include <hwloc.h>
#endif

#include "os/os.h"

static void ids_add(struct os_ids *ids, unsigned int id)
{
	if (os_ids_has(ids, id))
		return;
	ids->bits[id / 64] |= (uint64_t)1 << id % 64;
	ids->nr++;
	if (id >= ids->end)
		ids->end = id + 1;
}

static int parse_id(const char **at, unsigned int *out)
{
	const char *text = *at;
	unsigned int id = 0;
	bool large = false;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		id = id * 10 + (unsigned int)(*text - '0');
		if (id >= OS_IDS_MAX) {
			large = true;
			id = OS_IDS_MAX;
		}
	}
	*at = text;
	*out = id;
	return large ? -ERANGE : 0;
}

/* "8" or "0-3" */
static int parse_range(const char **at, struct os_ids *ids)
{
	unsigned int first, last;
	int error = parse_id(at, &first);

	if (error)
		return error;
	last = first;
	if (**at == '-') {
		++*at;
		error = parse_id(at, &last);
		if (error)
			return error;
	}
	if (last < first)
		return -EINVAL;
	for (; first <= last; first++)
		ids_add(ids, first);
	return 0;
}

static bool at_end(const char *text)
{
	return !text[0] || (text[0] == '\n' && !text[1]);
}

int os_ids_parse(const char *text, struct os_ids *out)
{
	struct os_ids ids = { 0 };

	if (at_end(text)) {
		*out = ids;
		return 0;
	}
	for (;;) {
		int error = parse_range(&text, &ids);

		if (error)
			return error;
		if (at_end(text))
			break;
		if (*text++ != ',')
			return -EINVAL;
	}
	*out = ids;
	return 0;
}

/* Printing: into a buffer of any size, with room kept for "..." */

struct printer {
	char *buf;
	size_t len, at;
};

static bool put(struct printer *p, const char *text)
{
	size_t n = strlen(text);

	if (p->at + n + sizeof("...") > p->len)
		return false;
	memcpy(p->buf + p->at, text, n + 1);
	p->at += n;
	return true;
}

static void number_text(unsigned int n, char text[12])
{
	char digits[12];
	int i = 0, j = 0;

	do
		digits[i++] = (char)('0' + n % 10);
	while (n /= 10);
	while (i)
		text[j++] = digits[--i];
	text[j] = 0;
}

static bool put_range(struct printer *p, unsigned int first, unsigned int last)
{
	char text[28] = ",";
	char *at = text + (p->at > 0);

	number_text(first, at);
	if (last > first) {
		at = text + strlen(text);
		*at = '-';
		number_text(last, at + 1);
	}
	return put(p, text);
}

void os_ids_print(const struct os_ids *ids, char *buf, size_t len)
{
	struct printer p = { buf, len, 0 };

	if (!len)
		return;
	buf[0] = 0;
	for (unsigned int id = 0; id < ids->end; id++) {
		unsigned int first = id;

		if (!os_ids_has(ids, id))
			continue;
		while (os_ids_has(ids, id + 1))
			id++;
		if (put_range(&p, first, id))
			continue;
		if (p.at + sizeof("...") <= len)
			memcpy(buf + p.at, "...", sizeof("..."));
		return;
	}
}

static bool read_ids(const char *path, struct os_ids *out)
{
	char text[4096];

	return os->read_file(path, text, sizeof(text)) > 0 &&
	       !os_ids_parse(text, out) && out->nr;
}

/* The raw call takes any mask that is large enough; the wrapper's does not. */
static void read_allowed(struct os_ids *out)
{
	unsigned long mask[OS_IDS_MAX / (8 * sizeof(long))] = { 0 };
	const unsigned int per_word = 8 * sizeof(long);
	int saved = errno;
	long got = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);

	errno = saved;
	memset(out, 0, sizeof(*out));
	for (unsigned int id = 0; got > 0 && id < OS_IDS_MAX; id++)
		if (mask[id / per_word] >> id % per_word & 1)
			ids_add(out, id);
	if (!out->nr)
		ids_add(out, 0);
}

void os_topology_read(struct os_topology *out)
{
	memset(out, 0, sizeof(*out));
	read_allowed(&out->allowed);
	out->cpus_known =
		read_ids("/sys/devices/system/cpu/possible", &out->possible) &&
		read_ids("/sys/devices/system/cpu/online", &out->online);
	if (!out->cpus_known)
		out->possible = out->online = out->allowed;
	out->nodes_known =
		read_ids("/sys/devices/system/node/online", &out->nodes);
	if (!out->nodes_known)
		ids_add(&out->nodes, 0);
}

#if defined(HAVE_HWLOC) && HAVE_HWLOC

static void fill_cache(hwloc_obj_t obj, struct os_cache *out)
{
	static const char kinds[] = {
		[HWLOC_OBJ_CACHE_UNIFIED] = 'u',
		[HWLOC_OBJ_CACHE_DATA] = 'd',
		[HWLOC_OBJ_CACHE_INSTRUCTION] = 'i',
	};
	const struct hwloc_cache_attr_s *cache = &obj->attr->cache;

	out->level = cache->depth;
	out->kind = kinds[cache->type];
	out->shared_by =
		obj->cpuset ? (unsigned int)hwloc_bitmap_weight(obj->cpuset)
			    : 0;
	out->line = cache->linesize;
	out->ways = cache->associativity;
	out->size = cache->size;
}

/* A CPU's parents are its caches, smallest first, among other things. */
static int list_caches(hwloc_topology_t topology, struct os_cache *out, int max)
{
	hwloc_obj_t obj = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);
	int nr = 0;

	for (; obj && nr < max; obj = obj->parent)
		if (hwloc_obj_type_is_dcache(obj->type))
			fill_cache(obj, &out[nr++]);
	return nr ? nr : -ENODATA;
}

int os_caches_read(struct os_cache *out, int max)
{
	hwloc_topology_t topology;
	int saved = errno;
	int result = -ENODATA;

	if (!hwloc_topology_init(&topology)) {
		if (!hwloc_topology_load(topology))
			result = list_caches(topology, out, max);
		hwloc_topology_destroy(topology);
	}
	errno = saved;
	return result;
}

#else

int os_caches_read(struct os_cache *out, int max)
{
	(void)out;
	(void)max;
	return -ENOSYS;
}

#endif
