/* SPDX-License-Identifier: MIT */
/*
 * Who hands out pages in `quire bench page_bench`: the cases, and the programs
 * of bench/peers that stand for them.
 */
#ifndef QUIRE_CLI_BENCH_PEERS_H
#define QUIRE_CLI_BENCH_PEERS_H

#include <stdbool.h>

enum peer_id {
	PEER_QUIRE,
	PEER_QUIRE_LTO,
	PEER_GLIBC,
	PEER_JEMALLOC,
	PEER_MIMALLOC,
	PEER_TCMALLOC,
	PEER_MEMPOOL,
	PEER_MEMPOOL_INLINE,
	PEER_MMAP,
	NR_PEERS
};

struct peer {
	const char *name;
	bool ages;		     /* can it be aged? */
	bool ours;		     /* has it data of ours, and a reserve? */
	const char *const *settings; /* as bench_run has them */
	char *program, *library;     /* NULL: none */
	char *missing;		     /* why it cannot run; NULL: it can */
};

/* peers_find - all of them; peers_free() ends it */
struct peer *peers_find(void);
void peers_free(struct peer *peers);

/* peers_program - a program of bench/peers; NULL: not built or installed */
char *peers_program(const char *name);

/* peers_check_cases - 0 or CLI_USAGE after a message; NULL is fine */
int peers_check_cases(const char *list);

#endif /* QUIRE_CLI_BENCH_PEERS_H */
