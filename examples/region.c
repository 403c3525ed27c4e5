/* SPDX-License-Identifier: MIT */
/*
 * One GiB, populated by all CPUs that are free, then given back behind our
 * back.
 *
 *	cc region.c -lquire && ./a.out
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <quire/quire.h>

static int show(size_t bytes_done, size_t bytes, void *arg)
{
	(void)arg;
	printf("\r%3zu %%", bytes_done * 100 / bytes);
	return 0; /* anything else would stop it */
}

int main(void)
{
	const size_t bytes = (size_t)1 << 30;
	struct quire_region_options options = { .size = sizeof(options) };
	struct quire_work work = { .size = sizeof(work), .progress = show };
	struct quire_release *release;
	struct quire_region *region;
	int error;

	options.pages = QUIRE_PAGES_THP;
	options.flags = QUIRE_REGION_NO_DUMP;
	error = quire_region_open(bytes, &options, &region);
	if (!error)
		error = quire_region_populate(region, 0, bytes, &work);
	if (error) {
		fprintf(stderr, "no memory: %s\n", strerror(-error));
		return 1;
	}
	printf(" populated by %u threads\n", work.workers_used);
	memset(quire_region_address(region), 1, bytes);
	quire_region_release_start(region, 0, bytes, 0, &release);
	quire_region_close(region); /* neither waits */
	error = quire_release_wait(release, &work);
	printf("given back, %" PRIu64 " us of CPU time\n", work.cpu_ns / 1000);
	return error != 0;
}
