/* SPDX-License-Identifier: MIT */
/*
 * A system that refuses.
 *
 * A copy of another table, in which the n-th call fails, counted over all
 * entries that can fail or over those of one kind; or every call from the n-th
 * on.  Nothing is done by a call that fails.  For tests: not part of any
 * library.  Armed by one thread while no other makes calls; calls may then
 * come from any.
 */
#ifndef OS_FAULTY_H
#define OS_FAULTY_H

#include "os/os.h"

enum faulty_kind {
	FAULTY_ALL,
	FAULTY_MAP,
	FAULTY_RESERVE,
	FAULTY_UNMAP,
	FAULTY_ADVISE,
	FAULTY_MOVE,
	FAULTY_READ_FILE,
	FAULTY_SHARE,
	FAULTY_THREAD,
	FAULTY_PLACE,
	FAULTY_RESIDENT,
	FAULTY_BACKGROUND,
	FAULTY_AT_FORK,
	FAULTY_POPULATE, /* of advise: not counted as FAULTY_ADVISE */
	FAULTY_RSEQ,	 /* rseq_offset */
	FAULTY_RESTART_REGISTER,
	FAULTY_RESTART,
	FAULTY_NR_KINDS
};

extern struct os_ops os_faulty;

/* Put it over @base, disarmed, under everything; and @base back. */
void faulty_start(const struct os_ops *base);
void faulty_stop(void);

/*
 * The @n-th call from now on (1: the next) of @kind fails, once; 0: none does.
 * faulty_arm_from: that one and all after it.
 */
void faulty_arm(unsigned int n, enum faulty_kind kind);
void faulty_arm_from(unsigned int n, enum faulty_kind kind);

/* The positive errno with which calls of @kind fail; reset by faulty_start. */
void faulty_errno(enum faulty_kind kind, int error);

/* Calls that failed since it was armed. */
unsigned int faulty_hits(void);

#endif /* OS_FAULTY_H */
