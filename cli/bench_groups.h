/* SPDX-License-Identifier: MIT */
/*
 * A zone with groups below one root, as the benches of groups need it.
 */
#ifndef QUIRE_CLI_BENCH_GROUPS_H
#define QUIRE_CLI_BENCH_GROUPS_H

#include <quire/group.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_GROUPS_MAX = 256 };

struct pool_spec {
	size_t pages; /* that are used at one time */
	bool memory;  /* behind them; else the zone has numbers only */
	bool bare;    /* a zone without groups over it */
	enum quire_lru_lock lru_lock;
	unsigned int nr_groups;
	uint64_t max; /* of each; 0: no limit */
	/* called for each page that is dropped; NULL: no owner */
	void (*drop)(void *arg, void *page, uint64_t key);
};

struct pool {
	/* const after open */
	struct quire_region *region;
	struct quire_zone *zone;
	struct quire_groups *groups;
	struct quire_group *group[POOL_GROUPS_MAX];
	unsigned int nr_groups;
	uint32_t owner; /* QUIRE_OWNER_NONE without drop */
};

/* pool_open - 0 or a positive errno; what it opened pool_close() closes */
int pool_open(struct pool *pool, const struct pool_spec *spec);

/* pool_page - a page of the group, with that key; NULL and errno */
void *pool_page(struct pool *pool, unsigned int group, uint64_t key);

/* What the locks of lists saw until now. */
struct pool_locks {
	uint64_t takes, contended, hold_cycles;
	uint64_t activated; /* pages */
};
void pool_locks(struct pool *pool, struct pool_locks *out);

/* pool_close - 0; EBADMSG: pages were lost */
int pool_close(struct pool *pool);

/* pool_error - what to say of such an errno */
const char *pool_error(int error);

#endif /* QUIRE_CLI_BENCH_GROUPS_H */
