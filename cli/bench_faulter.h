/* SPDX-License-Identifier: MIT */
/*
 * Another thread of the same process, which faults in fresh 4 KiB pages as
 * fast as it can and notes how long each takes.
 */
#ifndef QUIRE_CLI_BENCH_FAULTER_H
#define QUIRE_CLI_BENCH_FAULTER_H

#include <stdint.h>

struct faulter;

struct faulter_result {
	uint64_t nr;		     /* faults in the window */
	double p50_s, p99_s, p999_s; /* NAN: fewer than 10 beyond it */
	double rate;		     /* per second */
};

/* faulter_start - NULL: no memory or no thread.  Returns when it faults. */
struct faulter *faulter_start(void);

/* What lies between the two is noted; once. */
void faulter_open(struct faulter *f);
void faulter_close(struct faulter *f);

/*
 * faulter_end - stop it and tell; ends @f
 * Returns 0, or -EIO when what it touched were not faults.
 */
int faulter_end(struct faulter *f, struct faulter_result *out);

/* faulter_bucket, faulter_value - the histogram, for tests */
unsigned int faulter_bucket(uint64_t ns);
double faulter_value(unsigned int bucket);

#endif /* QUIRE_CLI_BENCH_FAULTER_H */
