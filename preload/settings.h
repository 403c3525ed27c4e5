/* SPDX-License-Identifier: MIT */
/* QUIRE_OPTIONS of the preload library: "key=value,key=value" or "help". */
#ifndef PRELOAD_SETTINGS_H
#define PRELOAD_SETTINGS_H

#include "region/store.h"

struct settings {
	size_t threshold; /* blocks from this size on are ours */
	struct store_options store;
	char stat_dir[4000]; /* "" : keep no record of the process */
};

/*
 * Read them; what is wrong or unknown is said once on stderr and left at its
 * default.  Allocates nothing.
 */
void settings_read(struct settings *settings);

#endif /* PRELOAD_SETTINGS_H */
