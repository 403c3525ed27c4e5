/* SPDX-License-Identifier: MIT */
/*
 * What the options of `quire bench bigfree` may name.
 */
#ifndef QUIRE_CLI_BENCH_BIGFREE_H
#define QUIRE_CLI_BENCH_BIGFREE_H

/* bigfree_check_cases - 0 or CLI_USAGE after a message; NULL is fine */
int bigfree_check_cases(const char *list);

#endif /* QUIRE_CLI_BENCH_BIGFREE_H */
