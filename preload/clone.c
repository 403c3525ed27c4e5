/* SPDX-License-Identifier: MIT */
/*
 * Processes made without fork handlers: _Fork, clone, and both by number.
 *
 * With the C library alone, the child of a program of one thread may go on as
 * if fork had been called.  With us there may be the helper thread, which could
 * hold a lock at that moment, so these calls are put between our handlers as
 * well.  A caller that shares its memory with the child (vfork, threads) needs
 * nothing.
 *
 * In a signal handler that interrupted us the locks cannot be taken; the child
 * of one may only call what is async-signal-safe, which malloc is not.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "os/arch/syscall.h"
#include "os/lock.h"
#include "preload.h"

/* Since glibc 2.34; not in older headers. */
pid_t _Fork(void);

typedef int (*clone_body)(void *);
typedef int (*clone_fn)(clone_body, void *, int, void *, ...);

/* const after clone_start */
static pid_t (*next__Fork)(void);
static clone_fn next_clone;

void clone_start(void)
{
	void *symbol = next_symbol("clone", (const void *)clone);

	memcpy(&next_clone, &symbol, sizeof(symbol));
	symbol = next_symbol("_Fork", (const void *)_Fork);
	memcpy(&next__Fork, &symbol, sizeof(symbol));
}

/* For the child, in its copy of the caller's stack. */
struct start {
	clone_body body;
	void *arg;
};

static int body_in_child(void *arg)
{
	struct start *start = arg;

	preload_fork_child();
	return start->body(start->arg);
}

EXPORT pid_t _Fork(void)
{
	bool prepared = !lock_holds_any();
	pid_t pid;

	if (prepared)
		preload_fork_prepare();
	pid = next__Fork();
	if (prepared && pid)
		preload_fork_parent();
	else if (prepared)
		preload_fork_child();
	return pid;
}

EXPORT int clone(clone_body body, void *stack, int flags, void *arg, ...)
{
	struct start start = { body, arg };
	void *more[3];
	va_list args;
	int pid;

	va_start(args, arg);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(args, void *);
	va_end(args);
	if (flags & CLONE_VM || !body || lock_holds_any())
		return next_clone(body, stack, flags, arg, more[0], more[1],
				  more[2]);
	preload_fork_prepare();
	pid = next_clone(body_in_child, stack, flags, &start, more[0], more[1],
			 more[2]);
	preload_fork_parent();
	return pid;
}

/* By number */

bool clone_copies_process(long nr, long a)
{
	uint64_t flags = 0;

	switch (nr) {
#ifdef SYS_fork
	case SYS_fork:
		break;
#endif
	case SYS_clone:
		flags = (uint64_t)a;
		break;
#ifdef SYS_clone3
	case SYS_clone3:
		if (a)
			memcpy(&flags, (const void *)a, sizeof(flags));
		break;
#endif
	default:
		return false;
	}
	return !(flags & CLONE_VM) && !lock_holds_any();
}
