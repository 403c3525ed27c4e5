/* SPDX-License-Identifier: MIT */
/*
 * A system call without the C library: returns -errno itself, and cannot be
 * intercepted.  Both matter to os/kernel.c, whose calls must not be mistaken
 * for the program's (the preload library wraps syscall(3)).
 *
 * Other CPU kinds go through syscall(3), errno saved.
 */
#ifndef OS_ARCH_SYSCALL_H
#define OS_ARCH_SYSCALL_H

#if defined(__x86_64__)

static inline long raw_syscall(long nr, long a, long b, long c, long d, long e,
			       long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline long raw_syscall(long nr, long a, long b, long c, long d, long e,
			       long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

#else

#include <errno.h>
#include <unistd.h>

static inline long raw_syscall(long nr, long a, long b, long c, long d, long e,
			       long f)
{
	int saved = errno;
	long result = syscall(nr, a, b, c, d, e, f);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

#endif

#endif /* OS_ARCH_SYSCALL_H */
