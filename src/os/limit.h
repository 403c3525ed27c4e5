/* SPDX-License-Identifier: MIT */
/*
 * How much memory this process may still have: the tightest limit over its
 * control groups (versions 1 and 2, all ancestors) and the machine.
 *
 * "Used" is what a group is charged minus its file cache (active_file and
 * inactive_file): the kernel drops file cache by itself before it kills, so a
 * group full of file cache is not short of memory.
 */
#ifndef OS_LIMIT_H
#define OS_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct os_limit {
	uint64_t limit;	   /* bytes; UINT64_MAX: none found */
	uint64_t used;	   /* bytes, file cache not counted */
	uint64_t smallest; /* bytes; the smallest limit of any level, which
			      may be another level than the tightest */
	char path[256];	   /* the group's folder, or "machine" */
};

/*
 * os_limit_tightest - the level with the smallest share of its limit left
 * Reads through os->read_file only; takes no lock; allocates nothing (uses up
 * to 16 KiB of stack); the file cache of a level is read only where the level
 * looks at least 3/4 full without it, because reading it is dear.
 * Returns 0, or -ENOENT when not even the machine's size can be read.
 */
int os_limit_tightest(struct os_limit *out);

/*
 * os_limit_room - bytes that may still be taken before any level has less than
 * @percent of its limit left
 * As above, but the file cache is read at each level.
 */
int os_limit_room(unsigned int percent, uint64_t *out);

#endif /* OS_LIMIT_H */
