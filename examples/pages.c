/* SPDX-License-Identifier: MIT */
/*
 * A zone of pages over a region: a page, a block of 2 MiB, a range.
 *
 *	cc pages.c -lquire && ./a.out
 */
#include <stdio.h>
#include <string.h>

#include <quire/quire.h>

int main(void)
{
	struct quire_zone_options options = { .size = sizeof(options) };
	struct quire_zone *zone;
	char *page, *block, *range, text[4096];
	int error = quire_region_open((size_t)1 << 30, NULL, &options.region);

	if (!error)
		error = quire_zone_open(&options, &zone);
	if (error) {
		fprintf(stderr, "no zone: %s\n", strerror(-error));
		return 1;
	}
	page = quire_page_alloc(zone, QUIRE_ZERO);
	block = quire_block_alloc(zone, 9, QUIRE_MOVABLE);
	range = quire_range_alloc(zone, 5, 0, 0);
	if (!page || !block || !range)
		return 1; /* errno says why */
	strcpy(page, "a page of this CPU's own list");
	puts(page);
	error = quire_range_free(zone, range + 4096, 3); /* any part of it */
	if (!error)
		error = quire_block_free(zone, block);
	printf("again: %s\n", strerror(-quire_block_free(zone, block)));
	quire_zone_print(zone, QUIRE_ZONE_BUDDYINFO, text, sizeof(text));
	fputs(text, stdout);
	printf("%ld pages were still out\n", quire_zone_close(zone));
	return error || quire_region_close(options.region);
}
