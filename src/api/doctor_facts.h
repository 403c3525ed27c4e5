/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the doctor share: one finding, and how it is filled in.
 *
 * A fact function looks at one thing and fills one finding.  Nothing fails: a
 * thing that cannot be looked at is a finding as well.
 */
#ifndef API_DOCTOR_FACTS_H
#define API_DOCTOR_FACTS_H

#include <quire/doctor.h>

#include <stdint.h>

struct finding {
	char value[256];
	char effect[320];
	enum quire_fact_state state;
};

typedef void (*fact_look)(struct finding *f);

struct fact_entry {
	const char *name;
	fact_look look;
};

__attribute__((format(printf, 2, 3))) void found(struct finding *f,
						 const char *format, ...);
__attribute__((format(printf, 3, 4))) void follows(struct finding *f,
						   enum quire_fact_state state,
						   const char *format, ...);

/* "12.3 GiB": into a buffer of SIZE_TEXT bytes, which is returned */
#define SIZE_TEXT 32
char *size_text(uint64_t bytes, char buf[SIZE_TEXT]);
/* "EPERM" for -EPERM; the number for one without a name */
const char *error_name(int error);

/* The facts of doctor_memory.c, in the order of the report. */
extern const struct fact_entry memory_facts[];
extern const unsigned int nr_memory_facts;
/* doctor_pages.c */
void look_pages(struct finding *f);

#endif /* API_DOCTOR_FACTS_H */
