/* SPDX-License-Identifier: MIT */
/*
 * The table of `quire measure`: 100 columns at most.
 */
#ifndef QUIRE_CLI_TABLE_H
#define QUIRE_CLI_TABLE_H

#include "rows.h"

#include <stdbool.h>
#include <stdio.h>

/* table_colour - may colours be used on @f? A terminal, and no NO_COLOR. */
bool table_colour(FILE *f);

/* table_print - one line a row; then the rows that were not run, and why */
void table_print(const struct rows *rows, FILE *f);

/* table_print_details - each metric of each row with ratio and interval */
void table_print_details(const struct rows *rows, FILE *f);

/*
 * table_verdict - "16 % less", "no difference (+-0.8 %)", "too few runs"
 * @len: at least 40
 */
void table_verdict(const struct comparison *c, char *buf, size_t len);

#endif /* QUIRE_CLI_TABLE_H */
