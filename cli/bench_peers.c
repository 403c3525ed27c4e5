/* SPDX-License-Identifier: MIT */
/*
 * Who hands out pages: the cases of `quire bench page_bench`.
 *
 * The command links none of them.  Each has a program of its own, which may not
 * be there: DPDK is optional where quire is built, and other malloc libraries
 * are where they are used.  What is missing is named, and why.
 *
 * The malloc libraries get the settings that suit this best: caches as large as
 * they come, and nothing is given back to the kernel meanwhile.
 */
#include "bench_peers.h"
#include "cli.h"
#include "paths.h"
#include "scratch.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char *const glibc_settings[] = {
	"GLIBC_TUNABLES",
	"glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
	"glibc.malloc.top_pad=67108864",
	NULL
};
static const char *const jemalloc_settings[] = {
	"MALLOC_CONF", "dirty_decay_ms:-1,muzzy_decay_ms:-1", NULL
};
static const char *const mimalloc_settings[] = { "MIMALLOC_ALLOW_DECOMMIT", "0",
						 "MIMALLOC_PAGE_RESET", "0",
						 NULL };
static const char *const tcmalloc_settings[] = {
	"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", "1073741824",
	"TCMALLOC_RELEASE_RATE", "0", NULL
};

static const struct kind {
	const char *name;
	const char *program;
	const char *files[3]; /* the library, by likeliness */
	const char *const *settings;
	bool never_aged, ours;
} kinds[NR_PEERS] = {
	[PEER_QUIRE] = { .name = "quire",
			 .program = "bench-quire",
			 .ours = true },
	[PEER_QUIRE_LTO] = { .name = "quire-lto",
			     .program = "bench-quire-lto",
			     .ours = true },
	[PEER_GLIBC] = { .name = "glibc",
			 .program = "bench-malloc",
			 .settings = glibc_settings },
	[PEER_JEMALLOC] = { .name = "jemalloc",
			    .program = "bench-malloc",
			    .files = { "libjemalloc.so.2", "libjemalloc.so" },
			    .settings = jemalloc_settings },
	[PEER_MIMALLOC] = { .name = "mimalloc",
			    .program = "bench-malloc",
			    .files = { "libmimalloc.so.3", "libmimalloc.so.2",
				       "libmimalloc.so" },
			    .settings = mimalloc_settings },
	[PEER_TCMALLOC] = { .name = "tcmalloc",
			    .program = "bench-malloc",
			    .files = { "libtcmalloc_minimal.so.4",
				       "libtcmalloc.so.4",
				       "libtcmalloc_minimal.so" },
			    .settings = tcmalloc_settings },
	[PEER_MEMPOOL] = { .name = "mempool", .program = "bench-mempool" },
	[PEER_MEMPOOL_INLINE] = { .name = "mempool-inline",
				  .program = "bench-mempool-inline" },
	[PEER_MMAP] = { .name = "mmap",
			.program = "bench-mmap",
			.never_aged = true },
};

char *peers_program(const char *name)
{
	return paths_own_library(name);
}

static void find_library(struct peer *p, const struct kind *kind)
{
	size_t i;

	for (i = 0; !p->library && i < 3 && kind->files[i]; i++)
		p->library = paths_library(kind->files[i]);
	if (p->library)
		p->library = scratch_preloadable(p->library);
	if (!p->library && !p->missing)
		p->missing = xasprintf("%s is not installed", kind->files[0]);
}

struct peer *peers_find(void)
{
	struct peer *peers = xcalloc(NR_PEERS, sizeof(*peers));
	int i;

	for (i = 0; i < NR_PEERS; i++) {
		struct peer *p = &peers[i];

		p->name = kinds[i].name;
		p->ages = !kinds[i].never_aged;
		p->ours = kinds[i].ours;
		p->settings = kinds[i].settings;
		p->program = peers_program(kinds[i].program);
		if (!p->program)
			p->missing = xasprintf("%s was not built or installed",
					       kinds[i].program);
		if (kinds[i].files[0])
			find_library(p, &kinds[i]);
	}
	return peers;
}

void peers_free(struct peer *peers)
{
	int i;

	for (i = 0; i < NR_PEERS; i++) {
		free(peers[i].program);
		free(peers[i].library);
		free(peers[i].missing);
	}
	free(peers);
}

int peers_check_cases(const char *list)
{
	size_t len;
	int i;

	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		for (i = 0; i < NR_PEERS; i++)
			if (strlen(kinds[i].name) == len &&
			    !memcmp(kinds[i].name, list, len))
				break;
		if (i == NR_PEERS)
			return usage_error(
				"bench: --cases: '%.*s' is none of quire, quire-lto, glibc, jemalloc, mimalloc, tcmalloc, mempool, mempool-inline, mmap",
				(int)len, list);
	}
	return 0;
}
