/* SPDX-License-Identifier: MIT */
/*
 * The program's own calls on mappings: noted where they touch a block of ours,
 * and passed on exactly as they came.
 *
 * A kept block must carry nothing over from its last user.  So a block whose
 * protection, locks, policy or advice the program changed is not kept, and a
 * part that the program unmapped or replaced is no longer ours; see
 * region/note.c.  The note comes before the call: afterwards the kernel may
 * already have given the addresses to another thread.
 *
 * They are passed on to the next library of that name, which may be a wrapper
 * of the user's own, and go to the kernel where there is none yet.
 *
 * unshare and setns demand a process of one thread for some of what they do,
 * so our helper is joined around them.
 *
 * [C1] behind a seccomp filter the process does what malloc of the C library
 * would do, and no more: there is no helper thread, which would be outside the
 * filter, and the memory limits, which are files, are not looked at any more.
 */
/* We define mmap and mmap64 both; with this macro one would become the other.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/arch/syscall.h"
#include "next.h"
#include "os/os.h"
#include "preload.h"
#include "region/keeper.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Our own definitions, which headers would hide or declare otherwise. */
int munmap(void *address, size_t len);
long mbind(void *address, unsigned long len, int mode,
	   const unsigned long *nodes, unsigned long max_node,
	   unsigned int flags);
int unshare(int flags);
int setns(int fd, int type);

/* syscall(3) by its registers: variadic arguments travel like named ones. */
long quire_syscall(long nr, long a, long b, long c, long d, long e,
		   long f) __asm__("syscall");

/*
 * The next ones; const after mapping_start.  mbind belongs to libnuma, which
 * may not be there.
 */
static struct {
	__typeof__(&mmap) mmap;
	__typeof__(&munmap) munmap;
	__typeof__(&mremap) mremap;
	__typeof__(&mprotect) mprotect;
	__typeof__(&pkey_mprotect) pkey_mprotect;
	__typeof__(&madvise) madvise;
	__typeof__(&posix_madvise) posix_madvise;
	__typeof__(&mlock) mlock;
	__typeof__(&mlock2) mlock2;
	__typeof__(&mlockall) mlockall;
	__typeof__(&prctl) prctl;
	__typeof__(&unshare) unshare;
	__typeof__(&setns) setns;
	__typeof__(&quire_syscall) syscall;
} theirs;

#define FIND_AS(field, name, self)                                             \
	do {                                                                   \
		void *symbol = next_symbol(name, (const void *)self);          \
		memcpy(&theirs.field, &symbol, sizeof(symbol));                \
	} while (0)
#define FIND(name) FIND_AS(name, #name, name)

void mapping_start(void)
{
	FIND(mmap);
	FIND(munmap);
	FIND(mremap);
	FIND(mprotect);
	FIND(pkey_mprotect);
	FIND(madvise);
	FIND(posix_madvise);
	FIND(mlock);
	FIND(mlock2);
	FIND(mlockall);
	FIND(prctl);
	FIND(unshare);
	FIND(setns);
	FIND_AS(syscall, "syscall", quire_syscall);
}

/*
 * The result of a raw call as the C library gives it.  The calls below have no
 * more to them in the C library than the system call itself, but posix_madvise.
 */
static long finish(long result)
{
	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

#define PASS_ON(nr, a, b, c, d, e, f)                                          \
	finish(raw_syscall((nr), (long)(a), (long)(b), (long)(c), (long)(d),   \
			   (long)(e), (long)(f)))

static void note(const void *address, size_t len, enum store_note what)
{
	if (!store_is_open() || !len)
		return;
	store_note(&store, address, len, what);
}

/* A call that the kernel will refuse changes nothing: no note. */
static void note_hole(const void *address, size_t len)
{
	if ((uintptr_t)address % PAGE_SIZE == 0)
		note(address, len, NOTE_HOLE);
}

/*
 * Advice that leaves no trace on the mapping: it acts once, on the pages.
 * MADV_HUGEPAGE does leave one, but a harmless one: pages that are there stay
 * as they are, and numpy gives it for every array from 4 MiB on, so that not
 * keeping such blocks would mean keeping none of the largest.
 */
static bool advice_leaves_no_trace(int advice)
{
	switch (advice) {
	case MADV_NORMAL:
	case MADV_WILLNEED:
	case MADV_DONTNEED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_COLD:
	case MADV_PAGEOUT:
	case 22: /* MADV_POPULATE_READ */
	case 23: /* MADV_POPULATE_WRITE */
	case 24: /* MADV_DONTNEED_LOCKED */
	case 25: /* MADV_COLLAPSE */
	case MADV_HUGEPAGE:
		return true;
	default:
		return false;
	}
}

static void note_advice(const void *address, size_t len, int advice)
{
	if (!advice_leaves_no_trace(advice))
		note(address, len, NOTE_TAINT);
}

static void note_remap(const void *old, size_t old_len, size_t new_len,
		       int flags, const void *to)
{
	if (flags & MREMAP_FIXED)
		note_hole(to, new_len);
	if (flags & MREMAP_DONTUNMAP)
		note(old, old_len, NOTE_TAINT);
	else
		note_hole(old, old_len);
}

static void note_lock_all(int flags)
{
	/* With MCL_FUTURE fresh memory is locked too: no difference to see. */
	if (store_is_open() && !(flags & MCL_FUTURE))
		store_note_all(&store);
}

static bool is_fixed(int flags)
{
	/* MAP_FIXED_NOREPLACE has a bit of its own and replaces nothing. */
	return flags & MAP_FIXED;
}

EXPORT void *mmap(void *address, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	if (is_fixed(flags))
		note_hole(address, len);
	if (theirs.mmap)
		return theirs.mmap(address, len, prot, flags, fd, offset);
	return (void *)PASS_ON(SYS_mmap, address, len, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t len, int prot, int flags, int fd,
		    off64_t offset)
{
	return mmap(address, len, prot, flags, fd, offset);
}

EXPORT int munmap(void *address, size_t len)
{
	note_hole(address, len);
	if (theirs.munmap)
		return theirs.munmap(address, len);
	return (int)PASS_ON(SYS_munmap, address, len, 0, 0, 0, 0);
}

EXPORT void *mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	void *to = NULL;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list args;

		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	note_remap(old, old_len, new_len, flags, to);
	if (theirs.mremap)
		return theirs.mremap(old, old_len, new_len, flags, to);
	return (void *)PASS_ON(SYS_mremap, old, old_len, new_len, flags, to, 0);
}

EXPORT int mprotect(void *address, size_t len, int prot)
{
	note(address, len, NOTE_TAINT);
	if (theirs.mprotect)
		return theirs.mprotect(address, len, prot);
	return (int)PASS_ON(SYS_mprotect, address, len, prot, 0, 0, 0);
}

EXPORT int madvise(void *address, size_t len, int advice)
{
	note_advice(address, len, advice);
	if (theirs.madvise)
		return theirs.madvise(address, len, advice);
	return (int)PASS_ON(SYS_madvise, address, len, advice, 0, 0, 0);
}

EXPORT int mlock(const void *address, size_t len)
{
	note(address, len, NOTE_TAINT);
	if (theirs.mlock)
		return theirs.mlock(address, len);
	return (int)PASS_ON(SYS_mlock, address, len, 0, 0, 0, 0);
}

EXPORT int mlockall(int flags)
{
	int result;

	/* Again after it, for blocks that other threads got in between. */
	note_lock_all(flags);
	if (theirs.mlockall)
		result = theirs.mlockall(flags);
	else
		result = (int)PASS_ON(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	note_lock_all(flags);
	return result;
}

EXPORT long mbind(void *address, unsigned long len, int mode,
		  const unsigned long *nodes, unsigned long max_node,
		  unsigned int flags)
{
	note(address, len, NOTE_TAINT);
	return PASS_ON(SYS_mbind, address, len, mode, nodes, max_node, flags);
}

EXPORT int mlock2(const void *address, size_t len, unsigned int flags)
{
	note(address, len, NOTE_TAINT);
	if (theirs.mlock2)
		return theirs.mlock2(address, len, flags);
	return (int)PASS_ON(SYS_mlock2, address, len, flags, 0, 0, 0);
}

EXPORT int pkey_mprotect(void *address, size_t len, int prot, int pkey)
{
	note(address, len, NOTE_TAINT);
	if (theirs.pkey_mprotect)
		return theirs.pkey_mprotect(address, len, prot, pkey);
	return (int)PASS_ON(SYS_pkey_mprotect, address, len, prot, pkey, 0, 0);
}

EXPORT int posix_madvise(void *address, size_t len, int advice)
{
	note_advice(address, len, advice);
	if (theirs.posix_madvise)
		return theirs.posix_madvise(address, len, advice);
	if (advice == POSIX_MADV_DONTNEED)
		return 0; /* as the C library: it must not lose data */
	return (int)-raw_syscall(SYS_madvise, (long)address, (long)len, advice,
				 0, 0, 0);
}

static void bar_helper(void)
{
	if (store_is_open())
		keeper_bar(&store);
}

static void unbar_helper(void)
{
	if (store_is_open())
		keeper_unbar(&store);
}

EXPORT int unshare(int flags)
{
	int result;

	bar_helper();
	if (theirs.unshare)
		result = theirs.unshare(flags);
	else
		result = (int)PASS_ON(SYS_unshare, flags, 0, 0, 0, 0, 0);
	unbar_helper();
	return result;
}

EXPORT int setns(int fd, int type)
{
	int result;

	bar_helper();
	if (theirs.setns)
		result = theirs.setns(fd, type);
	else
		result = (int)PASS_ON(SYS_setns, fd, type, 0, 0, 0, 0);
	unbar_helper();
	return result;
}

/* The same calls by number.  Everything else jumps straight on. */
static void note_by_number(long nr, long a, long b, long c, long d, long e)
{
	switch (nr) {
	case SYS_mmap:
		if (is_fixed((int)d))
			note_hole((void *)a, (size_t)b);
		break;
	case SYS_munmap:
		note_hole((void *)a, (size_t)b);
		break;
	case SYS_mremap:
		note_remap((void *)a, (size_t)b, (size_t)c, (int)d, (void *)e);
		break;
	case SYS_madvise:
		note_advice((void *)a, (size_t)b, (int)c);
		break;
	case SYS_mlockall:
		note_lock_all((int)a);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_mbind:
		note((void *)a, (size_t)b, NOTE_TAINT);
		break;
	case SYS_prctl:
		if (a == PR_SET_VMA)
			note((void *)c, (size_t)d, NOTE_TAINT);
		break;
	default:
		break;
	}
}

EXPORT long quire_syscall(long nr, long a, long b, long c, long d, long e,
			  long f)
{
	bool alone = nr == SYS_unshare || nr == SYS_setns;
	bool fence =
		nr == SYS_seccomp || (nr == SYS_prctl && a == PR_SET_SECCOMP);
	bool copies = clone_copies_process(nr, a);
	long result;

	note_by_number(nr, a, b, c, d, e);
	if (alone || fence)
		bar_helper();
	if (copies)
		preload_fork_prepare();
	if (theirs.syscall)
		result = theirs.syscall(nr, a, b, c, d, e, f);
	else
		result = PASS_ON(nr, a, b, c, d, e, f);
	if (copies && result == 0)
		preload_fork_child();
	else if (copies)
		preload_fork_parent();
	if (alone || (fence && result))
		unbar_helper();
	return result;
}

static int pass_prctl(int option, const unsigned long arg[4])
{
	if (theirs.prctl)
		return theirs.prctl(option, arg[0], arg[1], arg[2], arg[3]);
	return (int)PASS_ON(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3],
			    0);
}

/* From now on no thread and no file, either of which may kill: [C1] */
static int fence_in(const unsigned long arg[4])
{
	int result;

	bar_helper();
	result = pass_prctl(PR_SET_SECCOMP, arg);
	if (result)
		unbar_helper();
	return result;
}

/* PR_SET_VMA names a range: a name is state as well. */
EXPORT int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_VMA)
		note((void *)arg[1], arg[2], NOTE_TAINT);
	if (option == PR_SET_SECCOMP)
		return fence_in(arg);
	return pass_prctl(option, arg);
}
