/* SPDX-License-Identifier: MIT */
/*
 * A zone of pages over a region: one page, a block of 2 MiB, a range, and how
 * the zone stands afterwards.
 *
 *	cc pages.c -lquire && ./a.out
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quire/quire.h>

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

int main(void)
{
	struct quire_zone_options options = { .size = sizeof(options) };
	struct quire_region *region;
	struct quire_zone *zone;
	char *page, *block, *range, text[4096];
	int error = quire_region_open((size_t)1 << 30, NULL, &region);

	if (error)
		fail("region", -error);
	options.region = region;
	error = quire_zone_open(&options, &zone);
	if (error)
		fail("zone", -error);

	page = quire_page_alloc(zone, QUIRE_ZERO);
	block = quire_block_alloc(zone, 9, QUIRE_MOVABLE);
	range = quire_range_alloc(zone, 5, 0, 0);
	if (!page || !block || !range)
		fail("pages", ENOMEM);
	strcpy(page, "a page of this CPU's own list");
	puts(page);
	error = quire_range_free(zone, range + 4096, 3); /* any part of it */
	if (!error)
		error = quire_block_free(zone, block);
	printf("again: %s\n", strerror(-quire_block_free(zone, block)));
	quire_zone_print(zone, QUIRE_ZONE_BUDDYINFO, text, sizeof(text));
	fputs(text, stdout);
	printf("%ld pages were still out\n", quire_zone_close(zone));
	return error || quire_region_close(region);
}
