/* SPDX-License-Identifier: MIT */
/*
 * See cpu.h.  And one thing that is done before main: telling the kernel that
 * this process will restart sequences on other CPUs takes a microsecond while
 * there is one thread, milliseconds afterwards (every CPU has to be waited
 * for).  A refusal is met again, and looked at, when the first list is made.
 */
#include "os/cpu.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/arch/syscall.h"
#include "os/os.h"
#include "os/topology.h"

static __attribute__((constructor)) void register_early(void)
{
	os->restart_register();
}

int cpu_here(void)
{
	int saved = errno;
	int cpu = sched_getcpu();

	errno = saved;
	return cpu;
}

static void set_mask(const uint64_t *mask, uint64_t *before)
{
	raw_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK, of every kernel */,
		    (long)mask, (long)before, sizeof(*mask), 0, 0);
}

void cpu_block_signals(struct cpu_signals *before)
{
	static const uint64_t all = UINT64_MAX;

	set_mask(&all, &before->mask);
}

void cpu_restore_signals(const struct cpu_signals *before)
{
	set_mask(&before->mask, NULL);
}

unsigned int cpu_end(void)
{
	struct os_topology topology;

	os_topology_read(&topology);
	return topology.possible.end;
}
