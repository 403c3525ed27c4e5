/* SPDX-License-Identifier: MIT */
/*
 * Who gives kept memory back, and when.
 *
 * While little is kept, the program's own later calls do it: every 100 ms at
 * most one of them looks, more often only when a memory limit is so near that
 * it could be reached before the next look.  From options.thread_bytes on (or a
 * sixteenth of the smallest memory limit), one helper thread does, so that
 * memory also goes back when the program never calls again.  The thread sleeps
 * without a time limit while nothing is kept.
 *
 * While it runs it also gives back what other threads leave to it [S5], first
 * of all and in the order in which they did.
 */
#ifndef REGION_KEEPER_H
#define REGION_KEEPER_H

#include "region/store.h"

void keeper_open(struct store *store);

/* There is news for the helper thread. */
void keeper_ring(struct store *store);

/* After @nr_pages were kept in @shard: the rare work, if any is due. */
void keeper_after_keep(struct store *store, struct shard *shard,
		       size_t nr_pages, uint64_t now_ms);

/*
 * No helper thread between these two: it is joined (unshare and setns demand a
 * process of one thread).  They nest.
 */
void keeper_bar(struct store *store);
void keeper_unbar(struct store *store);

#endif /* REGION_KEEPER_H */
