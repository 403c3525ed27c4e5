/* SPDX-License-Identifier: MIT */
/*
 * The paths of the objects that serve malloc.
 *
 * Not by the address that dlsym gives: in an executable that takes the address
 * of malloc (Debian's python3) that is an entry of the executable's own table,
 * whoever serves the calls.
 */
#include <stddef.h>

#include "object.h"
#include "os/self.h"
#include "sources.h"
#include "stat/page.h"

void note_sources(const void *next_malloc)
{
	const char *malloc_from = object_defining("malloc");
	char exe[256];

	if (malloc_from && !*malloc_from) { /* the executable itself */
		self_exe(exe, sizeof(exe));
		malloc_from = exe;
	}
	stat_page_sources(malloc_from,
			  next_malloc ? object_path(next_malloc) : NULL);
}
