/* SPDX-License-Identifier: MIT */
/* The doctor on zones: how CPUs' lists of pages work here, found by making
 * some, and what a zone costs. */
#include "api/doctor_facts.h"

#include "base/bits.h"
#include "page/memmap.h"
#include "percpu/percpu.h"

/* state, links and fresh bit of a page, its part of a pageblock's type; as
 * quire/page.h says, rounded up */
#define METADATA_BYTES 13u
_Static_assert(sizeof(struct page) + 1 <= METADATA_BYTES, "page.h says 13");

static void say_mode(struct finding *f, const struct percpu *percpu)
{
	switch (percpu->mode) {
	case PERCPU_RSEQ:
		found(f, "lists of %u CPUs, by restartable sequences",
		      percpu->nr_cpus);
		follows(f, QUIRE_FACT_GOOD,
			"a page costs no lock and no atomic access; %u bytes "
			"of bookkeeping for each page that is in use",
			METADATA_BYTES);
		return;
	case PERCPU_OFF:
		found(f, "no lists of CPUs: built for one CPU");
		follows(f, QUIRE_FACT_INFO,
			"every page comes from the free lists; %u bytes of "
			"bookkeeping for each page that is in use",
			METADATA_BYTES);
		return;
	default:
		found(f, "lists of %u CPUs, each with a lock", percpu->nr_cpus);
		follows(f, QUIRE_FACT_FALLBACK,
			"no restartable sequences: a lock that is tried once "
			"for each page; %u bytes of bookkeeping for each page "
			"that is in use",
			METADATA_BYTES);
	}
}

void look_pages(struct finding *f)
{
	static const uint32_t entries[] = { 0, 64 };
	struct percpu percpu;
	int error =
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_RSEQ);

	if (error) {
		found(f, "no memory for lists: %s", error_name(error));
		follows(f, QUIRE_FACT_BROKEN, "no zone can be opened");
		return;
	}
	say_mode(f, &percpu);
	percpu_destroy(&percpu);
}
