/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of _exit and _Exit.
 *
 * The next _exit is looked up in the constructor, never in the wrapper: dlsym
 * takes a lock of the loader that another thread may hold for ever.  For the
 * same reason the last resort is a raw call: the preload library wraps
 * syscall(3).  quick_exit needs no wrapper, because the handlers of
 * at_quick_exit run last to first and ours is registered before those of the
 * program.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit.h"
#include "os/arch/syscall.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*exit_fn)(int);

/* const after the constructor */
static void (*watcher)(void);
static exit_fn next__exit, next__Exit;

/* Ourselves: a dlsym that somebody wraps may not know who asks. */
static exit_fn find(const char *name, exit_fn self)
{
	exit_fn found = (exit_fn)dlsym(RTLD_NEXT, name);

	return found == self ? NULL : found;
}

__attribute__((constructor)) static void find_next(void)
{
	next__exit = find("_exit", _exit);
	next__Exit = find("_Exit", _Exit);
}

void exit_watch(void (*fn)(void))
{
	watcher = fn;
	at_quick_exit(fn);
}

__attribute__((noreturn)) static void leave(exit_fn next, int status)
{
	if (watcher)
		watcher();
	if (next)
		next(status);
	for (;;)
		raw_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORT void _exit(int status)
{
	leave(next__exit, status);
}

EXPORT void _Exit(int status)
{
	leave(next__Exit, status);
}
