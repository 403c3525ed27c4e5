/* SPDX-License-Identifier: MIT */
/*
 * The doctor: one line for each thing that decides how quire works here.
 *
 * The order is the order of the tables and does not change between machines: a
 * thing that is missing is reported as missing, so that two reports can be
 * laid side by side.  What an effect says is what this version does, not what
 * it may do one day.
 *
 * This file: the machine, the process, and what is looked at though nothing
 * uses it yet.  doctor_memory.c: memory calls, huge pages, limits;
 * doctor_pages.c: zones.
 */
#include <quire/doctor.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/doctor_facts.h"
#include "base/bits.h"
#include "os/os.h"
#include "os/probe.h"
#include "os/topology.h"

#define EXPORT __attribute__((visibility("default")))

#define GOOD	 QUIRE_FACT_GOOD
#define FALLBACK QUIRE_FACT_FALLBACK
#define INFO	 QUIRE_FACT_INFO
#define BROKEN	 QUIRE_FACT_BROKEN

#define NOT_USED "no effect: nothing in this version uses it"

void found(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->value, sizeof(f->value), format, args);
	va_end(args);
}

void follows(struct finding *f, enum quire_fact_state state, const char *format,
	     ...)
{
	va_list args;

	f->state = state;
	va_start(args, format);
	vsnprintf(f->effect, sizeof(f->effect), format, args);
	va_end(args);
}

char *size_text(uint64_t bytes, char buf[SIZE_TEXT])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB",
					     "PiB" };
	double size = (double)bytes / 1024;
	unsigned int unit = 0;

	if (bytes < 1024) {
		snprintf(buf, SIZE_TEXT, "%u bytes", (unsigned int)bytes);
		return buf;
	}
	while (size >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		unit++;
	}
	snprintf(buf, SIZE_TEXT, size < 10 ? "%.1f %s" : "%.0f %s", size,
		 units[unit]);
	return buf;
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(-error);

	return name ? name : "unknown error";
}

/* The machine */

static void look_kernel(struct finding *f)
{
	char release[128];

	os_probe_kernel(release, sizeof(release));
	found(f, "%s", release[0] ? release : "unknown");
	if (os_version_at_least(release, 5, 14))
		follows(f, GOOD, "new enough (5.14)");
	else
		follows(f, FALLBACK,
			"older than 5.14, the oldest that quire is made for: "
			"not tested there");
}

static void look_glibc(struct finding *f)
{
	const char *version = os_probe_glibc();

	found(f, "%s", version);
	if (os_version_at_least(version, 2, 35))
		follows(f, GOOD, "new enough (2.35)");
	else
		follows(f, BROKEN, "quire needs glibc 2.35 or newer");
}

static void look_page_size(struct finding *f)
{
	size_t size = os_probe_page_size();

	found(f, "%zu", size);
	if (size == PAGE_SIZE)
		follows(f, GOOD, "as quire is built for");
	else
		follows(f, BROKEN, "quire is built for pages of %zu bytes",
			PAGE_SIZE);
}

static void look_address_bits(struct finding *f)
{
	unsigned int bits = os_probe_address_bits();

	found(f, "%u in use", bits);
	if (bits <= 48)
		follows(f, GOOD, "all addresses fit the page map (48 bits)");
	else
		follows(f, FALLBACK,
			"blocks above 48 bits are left to the next malloc");
}

static void look_clock(struct finding *f)
{
	struct os_clock clock;

	os_probe_clock(&clock);
	found(f, "coarse, %.3g ms, %s", (double)clock.resolution_ns / 1e6,
	      clock.vdso ? "vDSO" : "no vDSO");
	if (clock.vdso)
		follows(f, GOOD, "the age of kept memory costs no system call");
	else
		follows(f, FALLBACK,
			"no vDSO: a system call at each free of a big block");
}

static void look_cpus(struct finding *f)
{
	struct os_topology topology;
	char possible[48], online[48], allowed[48];

	os_topology_read(&topology);
	os_ids_print(&topology.possible, possible, sizeof(possible));
	os_ids_print(&topology.online, online, sizeof(online));
	os_ids_print(&topology.allowed, allowed, sizeof(allowed));
	found(f, "possible %s, online %s, allowed %s (%u)", possible, online,
	      allowed, topology.allowed.nr);
	if (topology.cpus_known)
		follows(f, GOOD,
			"kept memory is spread over shards by the CPUs "
			"allowed when the program starts");
	else
		follows(f, FALLBACK,
			"/sys cannot be read: the allowed CPUs are taken for "
			"all");
}

static size_t add_cache(char *text, size_t len, size_t at,
			const struct os_cache *cache)
{
	char size[SIZE_TEXT];
	int n;

	if (at >= len)
		return at;
	n = snprintf(text + at, len - at, "%sL%u%s %s", at ? ", " : "",
		     cache->level,
		     cache->kind == 'd'	  ? "d"
		     : cache->kind == 'i' ? "i"
					  : "",
		     size_text(cache->size, size));
	at += n > 0 ? (size_t)n : 0;
	if (cache->ways > 0 && at < len) {
		n = snprintf(text + at, len - at, " %d-way", cache->ways);
		at += n > 0 ? (size_t)n : 0;
	}
	return at;
}

static void look_caches(struct finding *f)
{
	struct os_cache caches[8];
	int nr = os_caches_read(caches, ARRAY_SIZE(caches));
	char text[160] = "";
	size_t at = 0;

	for (int i = 0; i < nr; i++)
		at = add_cache(text, sizeof(text), at, &caches[i]);
	if (nr > 0)
		found(f, "%s, lines of %u bytes", text, caches[0].line);
	else
		found(f, "%s",
		      nr == -ENOSYS ? "not looked at: built without "
				      "hwloc"
				    : "unknown");
	follows(f, INFO, NOT_USED);
}

static void look_nodes(struct finding *f)
{
	struct os_topology topology;
	char nodes[64];

	os_topology_read(&topology);
	os_ids_print(&topology.nodes, nodes, sizeof(nodes));
	found(f, "%u (%s)%s", topology.nodes.nr, nodes,
	      topology.nodes_known ? "" : ", guessed");
	if (topology.nodes.nr <= 1)
		follows(f, INFO, "one node: nothing to place");
	else
		follows(f, INFO,
			"this version does not look at nodes: a kept block can "
			"be handed to a thread on another one");
}

static void look_mbind(struct finding *f)
{
	int error = os_probe_mbind();

	found(f, "%s%s", error ? "refused: " : "works",
	      error ? error_name(error) : "");
	follows(f, INFO,
		NOT_USED "; a block that the program binds is not "
			 "kept");
}

/* The process */

static void look_preload(struct finding *f)
{
	const char *preload = getenv("LD_PRELOAD");

	if (os_probe_secure()) {
		found(f, "ignored: set-user-ID or capabilities");
		follows(f, FALLBACK,
			"the loader takes no library from a path here: "
			"`quire run` cannot be applied");
		return;
	}
	found(f, preload && *preload ? "usable, in use already" : "usable");
	follows(f, GOOD,
		"`quire run` puts its library first and keeps what is there; "
		"static and set-user-ID programs ignore it");
}

static void look_threads(struct finding *f)
{
	uint64_t threads;

	if (os_file_field("/proc/self/status", "Threads:", &threads))
		found(f, "unknown");
	else
		found(f, "%llu in this process", (unsigned long long)threads);
	follows(f, INFO,
		"quire adds one, and only where much is kept (64 MiB unless "
		"set): a second thread makes small blocks of glibc dearer");
}

static void look_seccomp(struct finding *f)
{
	uint64_t mode = 0;

	if (os_file_field("/proc/self/status", "Seccomp:", &mode)) {
		found(f, "unknown");
		follows(f, INFO, "the other lines show what is refused");
	} else if (mode) {
		found(f, "a filter is in force (mode %u)", (unsigned int)mode);
		follows(f, INFO, "the other lines show what it refuses");
	} else {
		found(f, "off");
		follows(f, GOOD, "no system call is filtered");
	}
}

static void look_yama(struct finding *f)
{
	uint64_t scope;
	int error =
		os_file_number("/proc/sys/kernel/yama/ptrace_scope", &scope);

	if (error)
		found(f, "not there");
	else
		found(f, "ptrace_scope %u", (unsigned int)scope);
	follows(f, INFO,
		"no effect: quire attaches to no process (debuggers may be "
		"refused by it)");
}

/* What `pages` stands on */

static void look_rseq(struct finding *f)
{
	struct os_rseq rseq;

	os_probe_rseq(&rseq);
	if (rseq.owner == OS_RSEQ_GLIBC)
		found(f, "registered by glibc, %u bytes", rseq.size);
	else if (rseq.owner == OS_RSEQ_OTHER)
		found(f, "registered, but not by glibc");
	else if (rseq.owner == OS_RSEQ_NOBODY)
		found(f, "not registered%s",
		      rseq.tunable_off ? ": off by GLIBC_TUNABLES" : "");
	else
		found(f, "refused: %s", error_name(rseq.error));
	if (rseq.owner == OS_RSEQ_GLIBC)
		follows(f, GOOD, "CPUs' lists of pages need no lock");
	else
		follows(f, INFO, "CPUs' lists of pages: see `pages`");
}

static void look_membarrier(struct finding *f)
{
	int commands = os_probe_membarrier();

	if (commands < 0)
		found(f, "refused: %s", error_name(commands));
	else
		found(f, "commands 0x%x%s", (unsigned int)commands,
		      commands & 1 << 7 ? ", with rseq" : "");
	if (commands > 0 && commands & 1 << 7)
		follows(f, GOOD, "one CPU can drain another's list of pages");
	else
		follows(f, INFO, "CPUs' lists of pages: see `pages`");
}

/* Looked at, not used yet */

static void look_io_uring(struct finding *f)
{
	int error = os_probe_io_uring();
	uint64_t disabled = 0;

	os_file_number("/proc/sys/kernel/io_uring_disabled", &disabled);
	if (error)
		found(f, "refused: %s%s", error_name(error),
		      disabled ? " (kernel.io_uring_disabled)" : "");
	else
		found(f, "works");
	follows(f, INFO, NOT_USED ": it reads no files");
}

static const struct fact_entry machine_facts[] = {
	{ "kernel", look_kernel },	 { "glibc", look_glibc },
	{ "page_size", look_page_size }, { "address_bits", look_address_bits },
	{ "clock", look_clock },	 { "cpus", look_cpus },
	{ "caches", look_caches },	 { "nodes", look_nodes },
	{ "mbind", look_mbind },
};

static const struct fact_entry process_facts[] = {
	{ "preload", look_preload },   { "threads", look_threads },
	{ "seccomp", look_seccomp },   { "yama", look_yama },
	{ "rseq", look_rseq },	       { "membarrier", look_membarrier },
	{ "io_uring", look_io_uring }, { "pages", look_pages },
};

static int each(const struct fact_entry *entries, unsigned int nr,
		quire_fact_fn fn, void *arg)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct finding f = { .state = INFO };
		struct quire_fact fact = {
			.name = entries[i].name,
			.value = f.value,
			.effect = f.effect,
		};

		entries[i].look(&f);
		fact.state = f.state;
		int stop = fn(&fact, arg);
		if (stop)
			return stop;
	}
	return 0;
}

EXPORT int quire_doctor_each(quire_fact_fn fn, void *arg)
{
	int saved = errno;
	int stop;

	if (!fn)
		return -EINVAL;
	stop = each(machine_facts, ARRAY_SIZE(machine_facts), fn, arg);
	if (!stop)
		stop = each(memory_facts, nr_memory_facts, fn, arg);
	if (!stop)
		stop = each(process_facts, ARRAY_SIZE(process_facts), fn, arg);
	errno = saved;
	return stop;
}
