/* SPDX-License-Identifier: MIT */
/* Regions for the user: arguments are checked here, nothing else. */
#include <errno.h>
#include <string.h>

#include <quire/region.h>

#include "base/bits.h"
#include "region/area.h"

#define EXPORT __attribute__((visibility("default")))

#define ALL_FLAGS                                                              \
	(QUIRE_REGION_NO_DUMP | QUIRE_REGION_NO_FORK | QUIRE_REGION_FORK |     \
	 QUIRE_REGION_REGISTERED | QUIRE_REGION_STRICT |                       \
	 QUIRE_REGION_NO_LIMIT)
#define NODES_MAX 1024

static bool mask_is_empty(const struct quire_region_options *options)
{
	uint64_t any = 0;

	for (size_t i = 0; i < options->nr_nodes; i++)
		any |= options->nodes[i / 64] >> i % 64 & 1;
	return !any;
}

static bool nodes_are_known(const struct quire_region_options *options)
{
	if (options->nr_nodes > NODES_MAX ||
	    !options->nodes != !options->nr_nodes)
		return false;
	if (options->numa == QUIRE_NUMA_BIND || options->nr_nodes)
		return !mask_is_empty(options);
	return true;
}

static bool options_are_known(const struct quire_region_options *options)
{
	unsigned int fork_flags = QUIRE_REGION_FORK | QUIRE_REGION_NO_FORK;

	return options->pages <= QUIRE_PAGES_HUGETLB_2M &&
	       options->numa <= QUIRE_NUMA_BIND &&
	       !(options->flags & ~ALL_FLAGS) &&
	       (options->flags & fork_flags) != fork_flags &&
	       options->headroom_percent <= 100 && nodes_are_known(options);
}

EXPORT int quire_region_open(size_t bytes,
			     const struct quire_region_options *options,
			     struct quire_region **out)
{
	static const struct quire_region_options usual = { .size = sizeof(
								   usual) };

	if (!options)
		options = &usual;
	if (!bytes || !out || options->size != sizeof(*options) ||
	    !options_are_known(options))
		return -EINVAL;
	return area_open(bytes, options, out);
}

EXPORT int quire_region_close(struct quire_region *region)
{
	return region ? area_close(region) : -EINVAL;
}

EXPORT void *quire_region_address(const struct quire_region *region)
{
	return region->base;
}

EXPORT size_t quire_region_size(const struct quire_region *region)
{
	return region->bytes;
}

EXPORT size_t quire_region_page_size(const struct quire_region *region)
{
	return region->unit;
}

EXPORT int quire_region_describe(struct quire_region *region,
				 struct quire_region_facts *out)
{
	if (!region || !out || out->size != sizeof(*out))
		return -EINVAL;
	area_describe(region, out);
	return 0;
}

static bool work_is_known(const struct quire_work *work)
{
	return !work || work->size == sizeof(*work);
}

typedef int (*range_work)(struct quire_region *region, struct range range,
			  struct quire_work *work);

static int work_on(struct quire_region *region, size_t offset, size_t bytes,
		   struct quire_work *work, range_work body)
{
	struct range range;
	int error;

	if (!region || !work_is_known(work))
		return -EINVAL;
	if (work) {
		work->workers_used = 0;
		work->bytes_done = work->nr_slices = work->nr_helped = 0;
		work->cpu_ns = 0;
	}
	error = area_range(region, offset, bytes, &range);
	return error ? error : body(region, range, work);
}

EXPORT int quire_region_populate(struct quire_region *region, size_t offset,
				 size_t bytes, struct quire_work *work)
{
	return work_on(region, offset, bytes, work, area_populate);
}

EXPORT int quire_region_discard(struct quire_region *region, size_t offset,
				size_t bytes, struct quire_work *work)
{
	return work_on(region, offset, bytes, work, area_discard);
}

EXPORT int quire_region_release(struct quire_region *region, size_t offset,
				size_t bytes, struct quire_work *work)
{
	return work_on(region, offset, bytes, work, area_release);
}

EXPORT int quire_region_release_start(struct quire_region *region,
				      size_t offset, size_t bytes,
				      uint32_t workers,
				      struct quire_release **out)
{
	struct range range;
	int error;

	if (!region)
		return -EINVAL;
	error = area_range(region, offset, bytes, &range);
	return error ? error : area_release_start(region, range, workers, out);
}

EXPORT int quire_release_poll(struct quire_release *release,
			      struct quire_work *result)
{
	if (!release || !work_is_known(result))
		return -EINVAL;
	return release_poll(release, result);
}

EXPORT int quire_release_wait(struct quire_release *release,
			      struct quire_work *result)
{
	if (!release || !work_is_known(result))
		return -EINVAL;
	return release_wait(release, result);
}

EXPORT void quire_release_forget(struct quire_release *release)
{
	if (release)
		release_forget(release);
}

static int note_range(struct quire_region *region, size_t offset, size_t bytes,
		      int (*note)(struct quire_region *, struct range))
{
	struct range range;
	int error =
		region ? area_range(region, offset, bytes, &range) : -EINVAL;

	return error ? error : note(region, range);
}

EXPORT int quire_region_register(struct quire_region *region, size_t offset,
				 size_t bytes)
{
	return note_range(region, offset, bytes, area_mark);
}

EXPORT int quire_region_unregister(struct quire_region *region, size_t offset,
				   size_t bytes)
{
	return note_range(region, offset, bytes, area_unmark);
}

EXPORT void quire_region_counters(uint64_t counter[QUIRE_NR_COUNTERS])
{
	area_counters(counter);
}
