/* SPDX-License-Identifier: MIT */
/*
 * Blocks whose mapping the program changes itself, then frees.  The next user
 * of the memory must find nothing of it: no lock, no protection, no advice, no
 * policy, no name, no hole; and what the program put into a hole must survive
 * the free.  One line for each way; exits with 1 when one left something.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_VMA_ANON_NAME
#define PR_SET_VMA_ANON_NAME 0
#endif

#define K ((size_t)1 << 10)
#define M ((size_t)1 << 20)

static int bad;

static void result(const char *what, bool good, const char *detail)
{
	printf("%s %s%s%s\n", good ? "ok   " : "LEFT ", what,
	       *detail ? ": " : "", detail);
	bad += !good;
}

/*
 * The mappings that [at, at + size) lies in.  False, and what is wrong, when
 * one of them is not as a fresh block's.
 */
static bool is_fresh(const void *at, size_t size, char *why, size_t len)
{
	/* flags that an ordinary private mapping may have */
	static const char usual[] = " rd wr mr mw me ac hg sd gd nr ";
	uintptr_t first = (uintptr_t)at, last = first + size, from, to;
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[600], perms[8] = "";
	size_t covered = 0;
	bool inside = false, good = true;

	*why = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3) {
			inside = from < last && to > first;
			if (!inside)
				continue;
			covered += (to < last ? to : last) -
				   (from > first ? from : first);
			if (strcmp(perms, "rw-p") || strstr(line, "[anon:")) {
				snprintf(why, len, "%.*s",
					 (int)strcspn(line, "\n"), line);
				good = false;
			}
		} else if (inside && !strncmp(line, "VmFlags:", 8)) {
			char *save = NULL, padded[8];

			for (char *word = strtok_r(line + 8, " \n", &save);
			     word; word = strtok_r(NULL, " \n", &save)) {
				snprintf(padded, sizeof(padded), " %.2s ",
					 word);
				if (!strstr(usual, padded)) {
					snprintf(why, len, "flag %s", word);
					good = false;
				}
			}
		}
	}
	if (file)
		fclose(file);
	if (covered != size) {
		snprintf(why, len, "%zu of %zu bytes are mapped", covered,
			 size);
		good = false;
	}
	return good;
}

typedef bool (*change_fn)(char *, size_t);

static bool do_mlock(char *p, size_t n)
{
	return !mlock(p, n);
}
static bool do_mlock_part(char *p, size_t n)
{
	return !mlock(p + n / 2 + 77, 5000);
}
static bool do_mlock2(char *p, size_t n)
{
	return !mlock2(p, n, MLOCK_ONFAULT);
}
static bool do_mlock_call(char *p, size_t n)
{
	return !syscall(SYS_mlock, p, n);
}
/* a range that begins before the block and ends behind it */
static bool do_mlock_around(char *p, size_t n)
{
	return !mlock(p - 4096, n + 8192) || errno == ENOMEM;
}
static bool do_read_only(char *p, size_t n)
{
	return !mprotect(p, n, PROT_READ);
}
static bool do_no_access(char *p, size_t n)
{
	return !mprotect(p, n, PROT_NONE);
}
static bool do_protect_page(char *p, size_t n)
{
	return !mprotect(p + (n / 2 & ~4095ul), 4096, PROT_NONE);
}
static bool do_protect_last(char *p, size_t n)
{
	return !mprotect(p + ((n - 1) & ~4095ul), 4096, PROT_READ);
}
static bool do_exec(char *p, size_t n)
{
	return !mprotect(p, n, PROT_READ | PROT_WRITE | PROT_EXEC);
}
static bool do_protect_call(char *p, size_t n)
{
	return !syscall(SYS_mprotect, p, n, PROT_READ);
}
static bool do_pkey(char *p, size_t n)
{
	return !pkey_mprotect(p, n, PROT_READ, -1);
}
static bool do_pkey_call(char *p, size_t n)
{
	return !syscall(SYS_pkey_mprotect, p, n, PROT_READ, -1);
}
static bool do_dontfork(char *p, size_t n)
{
	return !madvise(p, n, MADV_DONTFORK);
}
static bool do_wipeonfork(char *p, size_t n)
{
	return !madvise(p, n, MADV_WIPEONFORK);
}
static bool do_dontdump(char *p, size_t n)
{
	return !madvise(p, n, MADV_DONTDUMP);
}
static bool do_nohuge(char *p, size_t n)
{
	return !madvise(p, n, MADV_NOHUGEPAGE);
}
static bool do_mergeable(char *p, size_t n)
{
	return !madvise(p, n, MADV_MERGEABLE);
}
static bool do_random(char *p, size_t n)
{
	return !madvise(p, n, MADV_RANDOM);
}
static bool do_sequential(char *p, size_t n)
{
	return !posix_madvise(p, n, POSIX_MADV_SEQUENTIAL);
}
static bool do_advise_call(char *p, size_t n)
{
	return !syscall(SYS_madvise, p, n, MADV_DONTFORK);
}
static bool do_name(char *p, size_t n)
{
	return !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, n, "mine");
}
static bool do_name_call(char *p, size_t n)
{
	return !syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, n,
			"mine");
}
static bool do_unmap_first(char *p, size_t n)
{
	return n && !munmap(p, 4096);
}
static bool do_unmap_middle(char *p, size_t n)
{
	return !munmap(p + (n / 2 & ~4095ul), 3 * 4096);
}
static bool do_unmap_end(char *p, size_t n)
{
	return !munmap(p + ((n - 1) & ~4095ul), 4096);
}
static bool do_unmap_call(char *p, size_t n)
{
	return !syscall(SYS_munmap, p + (n / 2 & ~4095ul), 4096);
}
static bool do_map_over(char *p, size_t n)
{
	return mmap(p + (n / 2 & ~4095ul), 4096, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}
static bool do_map_file_over(char *p, size_t n)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *at = mmap64(p + (n / 4 & ~4095ul), 8192, PROT_READ,
			  MAP_PRIVATE | MAP_FIXED, fd, 0);

	close(fd);
	return at != MAP_FAILED;
}
static bool do_map_shared_call(char *p, size_t n)
{
	long at = syscall(SYS_mmap, p + (n / 2 & ~4095ul), 8192L, 3L,
			  (long)(MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED), -1L,
			  0L);
	return at != -1;
}
static bool do_remap_away(char *p, size_t n)
{
	return mremap(p + (n / 2 & ~4095ul), 8192, 8192,
		      MREMAP_MAYMOVE | MREMAP_FIXED,
		      mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0)) != MAP_FAILED;
}
static bool do_remap_onto(char *p, size_t n)
{
	void *from = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mremap(from, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED,
		      p + (n / 2 & ~4095ul)) != MAP_FAILED;
}

/* An address mask of one node; refused where there is no NUMA. */
static bool do_policy(char *p, size_t n)
{
	unsigned long nodes = 1;

	return !syscall(SYS_mbind, p, n, MPOL_BIND, &nodes, 64, 0);
}

static const struct way {
	const char *name;
	change_fn change;
} ways[] = {
	{ "nothing", NULL },
	{ "mlock", do_mlock },
	{ "mlock of a part", do_mlock_part },
	{ "mlock2 on fault", do_mlock2 },
	{ "mlock by number", do_mlock_call },
	{ "mlock from before to behind", do_mlock_around },
	{ "mprotect read only", do_read_only },
	{ "mprotect none", do_no_access },
	{ "mprotect of one page", do_protect_page },
	{ "mprotect of the last page", do_protect_last },
	{ "mprotect exec", do_exec },
	{ "mprotect by number", do_protect_call },
	{ "pkey_mprotect", do_pkey },
	{ "pkey_mprotect by number", do_pkey_call },
	{ "madvise DONTFORK", do_dontfork },
	{ "madvise WIPEONFORK", do_wipeonfork },
	{ "madvise DONTDUMP", do_dontdump },
	{ "madvise NOHUGEPAGE", do_nohuge },
	{ "madvise MERGEABLE", do_mergeable },
	{ "madvise RANDOM", do_random },
	{ "posix_madvise SEQUENTIAL", do_sequential },
	{ "madvise by number", do_advise_call },
	{ "prctl name", do_name },
	{ "prctl name by number", do_name_call },
	{ "mbind by number", do_policy },
	{ "munmap of the first page", do_unmap_first },
	{ "munmap in the middle", do_unmap_middle },
	{ "munmap of the last page", do_unmap_end },
	{ "munmap by number", do_unmap_call },
	{ "mmap over a page", do_map_over },
	{ "mmap of a file over a part", do_map_file_over },
	{ "mmap shared over a part, by number", do_map_shared_call },
	{ "mremap of a part away", do_remap_away },
	{ "mremap onto a part", do_remap_onto },
};
#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

/* Page-aligned, so that the program may do all this to it. */
static char *aligned_block(size_t size)
{
	char *p = aligned_alloc(4096, size);

	if (!p)
		exit(2);
	memset(p, 0xcc, size);
	return p;
}

static void try_way(const struct way *way, size_t size)
{
	char name[100], why[700];
	char *p = aligned_block(size);

	snprintf(name, sizeof(name), "%s, %zu KiB", way->name, size >> 10);
	if (way->change && !way->change(p, size)) {
		printf("skip  %s: %s\n", name, strerror(errno));
		free(p);
		return;
	}
	free(p);
	/* what is kept now must be good for any user */
	for (int i = 0; i < 3; i++) {
		size_t want = i == 2 ? size / 2 + 4096 : size;
		char *q = i == 1 ? calloc(1, want) : aligned_block(want);
		bool good = is_fresh(q, i == 1 ? 4096 : want, why, sizeof(why));

		if (i == 1)
			for (size_t k = 0; good && k < want; k++)
				good = q[k] == 0;
		if (!good || i == 0)
			result(name, good, why);
		memset(q, 1, want);
		free(q);
	}
}

/*
 * The program's own mapping in the hole is there after the free of the block,
 * whatever kind of hole, and no later block overlaps it.
 */
static void try_survivor(const char *name, size_t at, size_t len, size_t size)
{
	char *p = aligned_block(size);
	char *mine;
	bool good = true;
	char *q[40];

	munmap(p + at, len);
	mine = mmap(p + at, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (mine != p + at) {
		printf("skip  %s: the place was taken\n", name);
		return;
	}
	memset(mine, 0x42, len);
	free(p);
	malloc_trim(0);
	for (int i = 0; i < 40; i++)
		memset(q[i] = malloc(size + (size_t)i * 4096), i, size);
	for (size_t k = 0; k < len; k++)
		good = good && mine[k] == 0x42;
	result(name, good, good ? "" : "overwritten");
	for (int i = 0; i < 40; i++)
		free(q[i]);
	malloc_trim(0);
	good = !madvise(mine, len, MADV_NORMAL) && mine[len - 1] == 0x42;
	result(name, good, good ? "" : "unmapped by somebody");
	munmap(mine, len);
}

/* realloc of changed blocks keeps content and gives a usable block */
static void try_resize(const struct way *way, bool up)
{
	size_t size = 600 * K, to = up ? 9 * M : 200 * K;
	char name[100];
	char *p = aligned_block(size);
	bool good = true;

	snprintf(name, sizeof(name), "realloc %s after %s", up ? "up" : "down",
		 way->name);
	if (!way->change(p, size)) {
		free(p);
		return;
	}
	p = realloc(p, to);
	for (size_t k = 0; k < 200 * K; k += 4096)
		good = good && p[k] == (char)0xcc;
	free(p); /* perhaps still read-only */
	p = malloc(to);
	memset(p, 3, to);
	free(p);
	result(name, good, "");
}

static void try_lock_all(void)
{
	char why[700];
	char *p = aligned_block(5 * M), *q;
	bool good;

	if (mlockall(MCL_CURRENT)) {
		printf("skip  mlockall: %s\n", strerror(errno));
		free(p);
		return;
	}
	free(p);
	q = aligned_block(5 * M);
	good = is_fresh(q, 5 * M, why, sizeof(why));
	result("mlockall(MCL_CURRENT), freed, allocated", good, why);
	free(q);
	munlockall();
	p = aligned_block(5 * M);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		free(p);
		return;
	}
	free(p);
	p = aligned_block(5 * M);
	munlockall();
	good = is_fresh(p, 5 * M, why, sizeof(why));
	result("mlockall(MCL_FUTURE), then munlockall", good, why);
	free(p);
	/* locked for ever by MCL_FUTURE, kept, munlockall, used again */
	mlockall(MCL_FUTURE);
	p = aligned_block(5 * M);
	free(p);
	munlockall();
	p = aligned_block(5 * M);
	good = is_fresh(p, 5 * M, why, sizeof(why));
	result("kept while MCL_FUTURE", good, why);
	free(p);
}

/* The wrappers fail as the system calls do. */
static void try_errors(void)
{
	char *p = aligned_block(1 * M);
	bool good = true;

	errno = 0;
	good = good && munmap(p + 1, 4096) == -1 && errno == EINVAL;
	errno = 0;
	good = good && munmap(p, 0) == -1 && errno == EINVAL;
	errno = 0;
	good = good && mprotect(p + 1, 4096, 3) == -1 && errno == EINVAL;
	errno = 0;
	good = good && madvise(p, 4096, 9999) == -1 && errno == EINVAL;
	errno = 0;
	good = good && posix_madvise(p, 4096, 9999) == EINVAL && errno == 0;
	errno = 0;
	good = good &&
	       mmap(p + 1, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED &&
	       errno == EINVAL;
	errno = 0;
	good = good &&
	       mmap(NULL, 0, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED &&
	       errno == EINVAL;
	errno = 0;
	good = good &&
	       mremap(p + 1, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED &&
	       errno == EINVAL;
	errno = 0;
	good = good && prctl(-1, 0, 0, 0, 0) == -1 && errno == EINVAL;
	errno = 0;
	good = good && syscall(100000L) == -1 && errno == ENOSYS;
	good = good && syscall(SYS_getpid) == getpid();
	good = good && prctl(PR_SET_NAME, "renamed") == 0;
	memset(p, 7, 1 * M);
	free(p);
	result("errors of the calls themselves", good, strerror(errno));
}

int main(void)
{
	static const size_t sizes[] = { 200 * K, 2 * M + 8192, 9 * M };

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < NR_WAYS; i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			try_way(&ways[i], sizes[k]);
	try_survivor("mapped again in the middle", 512 * K, 64 * K, 1 * M);
	try_survivor("mapped again at the start", 0, 64 * K, 1 * M);
	try_survivor("mapped again at the end", 960 * K, 64 * K, 1 * M);
	try_survivor("mapped again over all", 0, 1 * M, 1 * M);
	try_survivor("mapped again, one page of 40 MiB", 20 * M, 4096, 40 * M);
	try_survivor("mapped again, larger than the rest", 4096, 7 * M, 8 * M);
	for (size_t i = 1; i < NR_WAYS; i++) {
		if (strstr(ways[i].name, "map") ||
		    strstr(ways[i].name, "none") ||
		    strstr(ways[i].name, "page"))
			continue; /* its content cannot be read */
		try_resize(&ways[i], true);
		try_resize(&ways[i], false);
	}
	try_errors();
	try_lock_all();
	printf("%d left something\n", bad);
	return bad != 0;
}
