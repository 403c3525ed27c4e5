/* SPDX-License-Identifier: MIT */
/* The doctor's facts about memory: calls, huge pages, limits. */
#include "api/doctor_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "os/limit.h"
#include "os/os.h"
#include "os/probe.h"

#define GOOD	 QUIRE_FACT_GOOD
#define FALLBACK QUIRE_FACT_FALLBACK
#define INFO	 QUIRE_FACT_INFO
#define BROKEN	 QUIRE_FACT_BROKEN

#define THP "/sys/kernel/mm/transparent_hugepage/"

/* What the preload library does unless told otherwise (store_options). */
#define KEEP_PART	4  /* of the smallest limit, kept at most */
#define RESERVE_PERCENT 10 /* gives back below this much left */

/* "works" or "refused: EPERM" */
static void found_call(struct finding *f, int error)
{
	found(f, "%s%s", error ? "refused: " : "works",
	      error ? error_name(error) : "");
}

static void look_map(struct finding *f)
{
	struct os_memory_calls calls;

	os_probe_memory_calls(&calls);
	found_call(f, calls.map);
	if (calls.map)
		follows(f, BROKEN, "no memory can be mapped at all");
	else
		follows(f, GOOD, "big blocks are mappings of their own");
}

static void look_discard(struct finding *f)
{
	struct os_memory_calls calls;

	os_probe_memory_calls(&calls);
	found_call(f, calls.discard);
	if (calls.discard)
		follows(f, FALLBACK,
			"kept memory is given back by munmap alone: other "
			"threads wait longer while a large span goes");
	else
		follows(f, GOOD,
			"large spans are emptied in slices before they are "
			"unmapped, so that other threads wait little");
}

static void look_move(struct finding *f)
{
	struct os_memory_calls calls;

	os_probe_memory_calls(&calls);
	found_call(f, calls.move);
	if (calls.move)
		follows(f, FALLBACK, "realloc of a big block copies");
	else
		follows(f, GOOD,
			"realloc of a big block moves its pages and "
			"copies nothing");
}

static void look_populate(struct finding *f)
{
	struct os_memory_calls calls;

	os_probe_memory_calls(&calls);
	found_call(f, calls.populate);
	follows(f, INFO,
		"no effect: this version faults nothing in ahead; "
		"pages come when the program touches them");
}

/* Huge pages */

static void look_thp(struct finding *f)
{
	struct os_memory_calls calls;
	char mode[64];

	os_probe_memory_calls(&calls);
	if (os_file_choice(THP "enabled", mode, sizeof(mode)) < 0)
		snprintf(mode, sizeof(mode), "not there");
	found(f, "%s%s%s", mode, calls.huge ? ", madvise refused: " : "",
	      calls.huge ? error_name(calls.huge) : "");
	if (!strcmp(mode, "always"))
		follows(f, GOOD,
			"the kernel gives huge pages to big blocks, "
			"with quire and without");
	else if (!strcmp(mode, "madvise") && !calls.huge)
		follows(f, GOOD,
			"quire asks for huge pages in blocks with room for "
			"them (thp=auto); without it few programs get any");
	else
		follows(f, FALLBACK,
			"no huge pages: faulting a block in costs more, and "
			"keeping it saves more");
}

static void look_thp_defrag(struct finding *f)
{
	char mode[64];

	if (os_file_choice(THP "defrag", mode, sizeof(mode)) < 0) {
		found(f, "not there");
		follows(f, INFO, "no effect");
		return;
	}
	found(f, "%s", mode);
	if (!strcmp(mode, "defer") || !strcmp(mode, "never"))
		follows(f, INFO,
			"where no huge page is free the first touch gets small "
			"ones at once");
	else
		follows(f, INFO,
			"where no huge page is free the first touch of a block "
			"that asked waits for one to be made");
}

/* Sizes between a page and a huge page that are on, "64K 128K" */
static void list_thp_sizes(char *text, size_t len)
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned int kb = 8; kb <= 1u << 20; kb *= 2) {
		char path[96], mode[64];

		snprintf(path, sizeof(path), THP "hugepages-%ukB/enabled", kb);
		if (kb == HUGE_SIZE >> 10 ||
		    os_file_choice(path, mode, sizeof(mode)) < 0 ||
		    !strcmp(mode, "never"))
			continue;
		int n = snprintf(text + at, len - at, "%s%uK %s",
				 at ? ", " : "", kb, mode);
		if (n < 0 || (size_t)n >= len - at)
			break;
		at += (size_t)n;
	}
}

static void look_thp_sizes(struct finding *f)
{
	char text[200];

	list_thp_sizes(text, sizeof(text));
	found(f, "%s", text[0] ? text : "none on");
	follows(f, INFO, "pages between 4K and 2M: %s",
		text[0] ? "the kernel uses these where quire got none of 2M"
			: "none; blocks below 2 MiB get pages of 4K");
}

static void look_pool(struct finding *f, unsigned long kb)
{
	char path[96];
	uint64_t total = 0, unused = 0;

	snprintf(path, sizeof(path),
		 "/sys/kernel/mm/hugepages/hugepages-%lukB/nr_hugepages", kb);
	if (os_file_number(path, &total)) {
		found(f, "not there");
	} else {
		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/hugepages/hugepages-%lukB/"
			 "free_hugepages",
			 kb);
		os_file_number(path, &unused);
		found(f, "%llu free of %llu", (unsigned long long)unused,
		      (unsigned long long)total);
	}
	if (total)
		follows(f, INFO,
			"no effect: nothing in this version takes pages from "
			"this pool; they lie idle for quire");
	else
		follows(f, INFO,
			"empty, no effect: nothing in this version takes pages "
			"from this pool, so none can be missing at a touch");
}

static void look_hugetlb_2m(struct finding *f)
{
	look_pool(f, 2048);
}

static void look_hugetlb_1g(struct finding *f)
{
	look_pool(f, 1048576);
}

/* Limits */

static void follows_limit(struct finding *f, const struct os_limit *l)
{
	char keep[SIZE_TEXT], reserve[SIZE_TEXT];
	uint64_t left = l->used < l->limit ? l->limit - l->used : 0;
	uint64_t least = l->limit / 100 * RESERVE_PERCENT;

	size_text(least, reserve);
	size_text(l->smallest / KEEP_PART, keep);
	if (left < least)
		follows(f, FALLBACK,
			"less than %s left (%d %%): what is kept is given back "
			"within 100 ms, so little is gained until there is "
			"more",
			reserve, RESERVE_PERCENT);
	else
		follows(f, GOOD,
			"at most %s kept (keep=); all of it is given back when "
			"less than %s is left (reserve=)",
			keep, reserve);
}

static void look_limit(struct finding *f)
{
	char used[SIZE_TEXT], limit[SIZE_TEXT];
	struct os_limit l;

	if (os_limit_tightest(&l)) {
		found(f, "unknown");
		follows(f, FALLBACK,
			"no limit can be read: kept memory decays by time and "
			"is not given back for want of memory");
		return;
	}
	found(f, "%s used of %s: %s", size_text(l.used, used),
	      size_text(l.limit, limit), l.path);
	follows_limit(f, &l);
}

static void look_address_limit(struct finding *f, enum os_rlimit which)
{
	uint64_t limit = os_probe_rlimit(which);
	char text[SIZE_TEXT];

	if (limit == UINT64_MAX) {
		found(f, "unlimited");
		follows(f, GOOD, "kept memory runs into no such limit");
		return;
	}
	found(f, "%s", size_text(limit, text));
	follows(f, FALLBACK,
		"what is kept counts against it and others would find it "
		"missing: nothing is kept, unless keep= says how much");
}

static void look_rlimit_as(struct finding *f)
{
	look_address_limit(f, OS_RLIMIT_AS);
}

static void look_rlimit_data(struct finding *f)
{
	look_address_limit(f, OS_RLIMIT_DATA);
}

static void look_rlimit_memlock(struct finding *f)
{
	uint64_t limit = os_probe_rlimit(OS_RLIMIT_MEMLOCK);
	char text[SIZE_TEXT];

	found(f, "%s",
	      limit == UINT64_MAX ? "unlimited" : size_text(limit, text));
	follows(f, INFO,
		"no effect: quire locks no memory; a block that the "
		"program locks is not kept");
}

static void look_map_count(struct finding *f)
{
	long have = os_file_lines("/proc/self/maps");
	uint64_t most;

	if (os_file_number("/proc/sys/vm/max_map_count", &most)) {
		found(f, "unknown");
		follows(f, INFO, "mappings are not counted");
		return;
	}
	if (have < 0)
		have = 0;
	found(f, "%llu, of which this process has %ld",
	      (unsigned long long)most, have);
	if ((uint64_t)have >= most / 10 * 9)
		follows(f, FALLBACK,
			"nearly used up: cutting kept memory and "
			"mapping new may be refused");
	else
		follows(f, GOOD,
			"room for mappings; where the kernel refuses "
			"one, kept memory is given back first");
}

static void follows_strict_commit(struct finding *f)
{
	uint64_t limit, used;
	char text[SIZE_TEXT];

	if (os_file_field("/proc/meminfo", "CommitLimit:", &limit) ||
	    os_file_field("/proc/meminfo", "Committed_AS:", &used)) {
		found(f, "2, strict");
	} else {
		uint64_t left = used < limit ? limit - used : 0;

		found(f, "2, strict, %s left", size_text(left << 10, text));
	}
	follows(f, FALLBACK,
		"kept memory counts as committed: when a mapping is refused, "
		"all of it is given back and the mapping tried again");
}

static void look_overcommit(struct finding *f)
{
	uint64_t mode;

	if (os_file_number("/proc/sys/vm/overcommit_memory", &mode)) {
		found(f, "unknown");
		follows(f, INFO, "no effect known");
	} else if (mode == 2) {
		follows_strict_commit(f);
	} else {
		found(f, "%llu, %s", (unsigned long long)mode,
		      mode == 1 ? "always" : "heuristic");
		follows(f, GOOD,
			"kept memory takes nothing from others but "
			"the pages it holds");
	}
}

static void look_swap(struct finding *f)
{
	uint64_t total, unused = 0;
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (os_file_field("/proc/meminfo", "SwapTotal:", &total)) {
		found(f, "unknown");
		follows(f, INFO, "no effect known");
		return;
	}
	os_file_field("/proc/meminfo", "SwapFree:", &unused);
	if (!total) {
		found(f, "none");
		follows(f, INFO,
			"kept memory stays resident until it decays "
			"or memory runs short");
		return;
	}
	found(f, "%s free of %s", size_text(unused << 10, a),
	      size_text(total << 10, b));
	follows(f, INFO,
		"kept memory may be swapped out before it decays; "
		"using it again then costs a read");
}

const struct fact_entry memory_facts[] = {
	{ "mmap", look_map },
	{ "madvise", look_discard },
	{ "mremap", look_move },
	{ "populate", look_populate },
	{ "thp", look_thp },
	{ "thp_defrag", look_thp_defrag },
	{ "thp_sizes", look_thp_sizes },
	{ "hugetlb_2m", look_hugetlb_2m },
	{ "hugetlb_1g", look_hugetlb_1g },
	{ "limit", look_limit },
	{ "rlimit_as", look_rlimit_as },
	{ "rlimit_data", look_rlimit_data },
	{ "rlimit_memlock", look_rlimit_memlock },
	{ "max_map_count", look_map_count },
	{ "overcommit", look_overcommit },
	{ "swap", look_swap },
};

const unsigned int nr_memory_facts = ARRAY_SIZE(memory_facts);
