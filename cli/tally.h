/* SPDX-License-Identifier: MIT */
/*
 * What the processes of one command left in its directory of records, added
 * up.
 */
#ifndef QUIRE_CLI_TALLY_H
#define QUIRE_CLI_TALLY_H

#include <quire/stat.h>

#include <stdbool.h>
#include <sys/types.h>

enum { TALLY_MALLOCS = 8 };

struct tally {
	unsigned int nr; /* processes that left a record */
	bool has_main;	 /* the command itself did */
	struct quire_process main;
	uint64_t rss_end;  /* of the process that had most at its end */
	uint64_t rss_peak; /* of the process that had most at any time */
	uint64_t counter[QUIRE_NR_COUNTERS]; /* PEAK: the largest; else the sum
					      */
	unsigned int nr_mallocs;
	char malloc_from[TALLY_MALLOCS][256]; /* each once */
};

/*
 * tally_read - read all records in @dir; @pid is the command's own process
 * A directory that cannot be read is one without records.
 */
void tally_read(struct tally *t, const char *dir, pid_t pid);

/* tally_sum - all processes as one, for what prints counters */
void tally_sum(const struct tally *t, struct quire_process *out);

/*
 * tally_malloc_is - does any process take its malloc from library @file?
 * Compared up to ".so": the version behind it may be a link or its target.
 */
bool tally_malloc_is(const struct tally *t, const char *file);

#endif /* QUIRE_CLI_TALLY_H */
