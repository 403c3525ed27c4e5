/* SPDX-License-Identifier: MIT */
/*
 * What works on this machine and which fallback is in force.
 */
#ifndef QUIRE_DOCTOR_H
#define QUIRE_DOCTOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum quire_fact_state {
	QUIRE_FACT_GOOD,     /* works */
	QUIRE_FACT_FALLBACK, /* missing; the fallback named in `effect` is in
				force */
	QUIRE_FACT_INFO,     /* neither good nor bad: a size, a count, a mode */
	QUIRE_FACT_BROKEN,   /* quire cannot work until this is mended */
};

/*
 * One line of the report.  The strings belong to quire and are valid during
 * the callback only.
 */
struct quire_fact {
	const char *name;   /* short, stable, lower case: "rseq", "thp" */
	const char *value;  /* as found: "registered by glibc, cpu 0" */
	const char *effect; /* what follows for quire, the fallback included */
	enum quire_fact_state state;
};

/*
 * A callback that returns non-zero ends the walk with that value.
 */
typedef int (*quire_fact_fn)(const struct quire_fact *fact, void *arg);

/*
 * quire_doctor_each - look at the machine and call @fn once for each fact
 * Thread-safe; not for signal handlers; starts no thread; reads files below
 * /proc and /sys and tries harmless system calls; allocates nothing that it
 * does not free.  Over fork: no state.
 * Returns 0, the callback's non-zero value, or -EINVAL if @fn is NULL.
 */
int quire_doctor_each(quire_fact_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_DOCTOR_H */
