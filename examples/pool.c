/* SPDX-License-Identifier: MIT */
/*
 * A database's own buffer pool: of a file of 4000 pages the 256 that are in
 * use.  For one thread; more would need a lock for both arrays, in callbacks too.
 *
 *	cc pool.c -lquire && ./a.out
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <quire/quire.h>

enum { PAGE = 4096, FILE_PAGES = 4000, POOL_PAGES = 256 };

static long *at[FILE_PAGES]; /* NULL: in the file only */
static int dirty[FILE_PAGES], file, reads;
static struct quire_groups *groups;
static struct quire_group *group;
static struct quire_page_request request = { .size = sizeof(request) };

static int isolate(void *arg, void *page, uint64_t nr)
{
	return dirty[nr] ? QUIRE_ISOLATE_DIRTY : 0;
}

static int clean(void *arg, void *page, uint64_t nr)
{
	if (pwrite(file, page, PAGE, (off_t)nr * PAGE) != PAGE)
		return -EIO; /* then it stays */
	return dirty[nr] = 0;
}

static void drop(void *arg, void *page, uint64_t nr)
{
	at[nr] = NULL; /* more threads: if dirty again, write it here */
}

static void add(int nr)
{
	request.key = nr;
	if (!at[nr]) {
		at[nr] = quire_group_page_alloc(group, &request);
		if (!at[nr] ||
		    pread(file, at[nr], PAGE, (off_t)nr * PAGE) != PAGE)
			exit(1);
		quire_group_page_add(groups, at[nr]);
		reads++;
	}
	quire_group_page_pin(groups, at[nr]); /* to work with it for long */
	at[nr][0]++;
	dirty[nr] = 1;
	quire_group_page_touch(groups, at[nr]);
	quire_group_page_unpin(groups, at[nr]);
}

int main(void)
{
	struct quire_owner o = { sizeof(o), NULL, isolate, clean, drop, NULL };
	struct quire_zone_options zo = { .size = sizeof(zo) };
	struct quire_zone *zone;
	struct quire_groups_options go = { sizeof(go), &zone, .nr_zones = 1 };
	long n, sum = 0;

	go.flags = QUIRE_GROUPS_NO_THREAD; /* only we reclaim */
	if (ftruncate(file = fileno(tmpfile()), FILE_PAGES * PAGE) ||
	    quire_region_open(64 << 20, NULL, &zo.region) ||
	    quire_zone_open(&zo, &zone) || quire_groups_open(&go, &groups) ||
	    quire_group_create(quire_groups_root(groups), &group) ||
	    quire_group_set_limit(group, QUIRE_GROUP_MAX, POOL_PAGES) ||
	    quire_owner_add(groups, &o, &request.owner))
		return 1;
	for (int i = 0; i < 100000; i++) /* nine in ten to the first 200 */
		add(rand() % (i % 10 ? 200 : FILE_PAGES));
	quire_group_set_limit(group, QUIRE_GROUP_MAX, 0); /* all written */
	for (off_t i = 0; i < FILE_PAGES; i++)
		sum += pread(file, &n, sizeof(n), i * PAGE) > 0 ? n : 0;
	printf("%d of 100000 adds had to read; the sum is %ld\n", reads, sum);
	return sum != 100000 || quire_groups_close(groups);
}
