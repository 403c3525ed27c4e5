/* SPDX-License-Identifier: MIT */
/* The paths of the objects that serve malloc. */
#include <dlfcn.h>
#include <stddef.h>

#include "object.h"
#include "os/self.h"
#include "sources.h"
#include "stat/page.h"

void note_sources(const void *next_malloc)
{
	const void *malloc_at = dlsym(RTLD_DEFAULT, "malloc");
	const char *malloc_from = malloc_at ? object_path(malloc_at) : NULL;
	char exe[256];

	if (malloc_from && !*malloc_from) { /* the executable itself */
		self_exe(exe, sizeof(exe));
		malloc_from = exe;
	}
	stat_page_sources(malloc_from,
			  next_malloc ? object_path(next_malloc) : NULL);
}
