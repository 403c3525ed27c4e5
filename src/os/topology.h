/* SPDX-License-Identifier: MIT */
/*
 * CPUs, memory nodes and caches of this machine.
 *
 * CPUs and nodes come from /sys and the affinity mask, with no library.
 * Caches come from hwloc where it was found at configure time (HAVE_HWLOC);
 * the preload library never uses it.
 */
#ifndef OS_TOPOLOGY_H
#define OS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids above this are an error: no Linux has been built for so many CPUs. */
#define OS_IDS_MAX 8192

struct os_ids {
	unsigned int nr;  /* how many */
	unsigned int end; /* the largest plus 1; 0 when there is none */
	uint64_t bits[OS_IDS_MAX / 64];
};

struct os_topology {
	struct os_ids possible; /* CPUs that could ever appear */
	struct os_ids online;
	struct os_ids allowed; /* CPUs the calling thread may run on */
	struct os_ids nodes;   /* memory nodes that are online */
	bool cpus_known;       /* false: /sys could not be read, guessed */
	bool nodes_known;
};

struct os_cache {
	unsigned int level;
	char kind;		/* 'd' data, 'i' instructions, 'u' both */
	unsigned int shared_by; /* CPUs */
	unsigned int line;	/* bytes; 0: not known */
	int ways;		/* -1: fully associative; 0: not known */
	uint64_t size;		/* bytes */
};

static inline bool os_ids_has(const struct os_ids *ids, unsigned int id)
{
	return id < OS_IDS_MAX && (ids->bits[id / 64] >> id % 64 & 1);
}

/*
 * os_ids_parse - read a list as the kernel prints it: "0-3,8,10-11\n"
 * An empty text is an empty list.  Returns 0, -EINVAL (no such list), or
 * -ERANGE (an id of OS_IDS_MAX or more); @out is written only on success.
 */
int os_ids_parse(const char *text, struct os_ids *out);

/*
 * os_ids_print - print @ids like that into @buf; cut with "..." if too long
 */
void os_ids_print(const struct os_ids *ids, char *buf, size_t len);

/*
 * os_topology_read - look now; what cannot be read is guessed: the allowed
 * CPUs are all there is, and one node
 */
void os_topology_read(struct os_topology *out);

/*
 * os_caches_read - the caches of the first CPU, smallest level first
 * Returns how many were written (at most @max), or -ENOSYS without hwloc,
 * -ENODATA where hwloc could not tell.
 */
int os_caches_read(struct os_cache *out, int max);

#endif /* OS_TOPOLOGY_H */
