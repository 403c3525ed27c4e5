/* SPDX-License-Identifier: MIT */
/*
 * libquire-stamp.so: what a process is and when it ended, nothing else.
 *
 * `quire measure` loads it into the rows that run without quire, so that the
 * time from the program's last own instruction to the reaped process is taken
 * in the same way in every row.  It wraps _exit and _Exit only (exit.c), keeps
 * the record of stat/page.h, and costs about as much as opening one file.
 *
 * Without stat_dir=DIR in QUIRE_OPTIONS it does nothing.
 */
#include <errno.h>
#include <pthread.h>

#include "exit.h"
#include "os/option.h"
#include "sources.h"
#include "stat/page.h"

static void stamp_end(void)
{
	stat_page_end(NULL);
}

__attribute__((constructor)) static void stamp_start(void)
{
	int saved = errno;
	char dir[4000];

	if (option_text("stat_dir", dir, sizeof(dir)) &&
	    !stat_page_open(dir, QUIRE_LOADED_STAMP)) {
		note_sources(NULL);
		pthread_atfork(NULL, NULL, stat_page_child);
		exit_watch(stamp_end);
	}
	errno = saved;
}

__attribute__((destructor)) static void stamp_stop(void)
{
	stamp_end();
}
