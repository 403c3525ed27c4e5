/* SPDX-License-Identifier: MIT */
/*
 * How busy the machine is with other work, and work of ours that keeps it
 * busy on purpose.
 */
#ifndef QUIRE_CLI_BENCH_LOAD_H
#define QUIRE_CLI_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What others may use, in CPUs, before the machine is called busy. */
#define LOAD_BUSY 0.1

enum { BENCH_BUSY_MAX = 64 };

struct bench_load {
	bool known;
	double busy_s, steal_s; /* of the machine, when the look began */
	double own_s;		/* of us, our children and the spinners */
	uint64_t at_ns;
	unsigned int nr_spinners;
	pid_t spinner[BENCH_BUSY_MAX];
};

/* load_spin - keep @nr CPUs busy, the last of those that we may use */
int load_spin(struct bench_load *l, unsigned int nr);
void load_spin_end(struct bench_load *l);

void load_begin(struct bench_load *l);

/*
 * load_end - what others used since load_begin(), in CPUs
 * False: not known.
 */
bool load_end(const struct bench_load *l, double *others, double *steal);

/*
 * load_wait - wait until others are quiet, @wait_s seconds at most
 * @l: with the spinners; its look is begun anew
 */
void load_wait(struct bench_load *l, unsigned int wait_s);

#endif /* QUIRE_CLI_BENCH_LOAD_H */
