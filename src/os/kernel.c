/* SPDX-License-Identifier: MIT */
/*
 * Linux behind the table of os.h.
 *
 * This code runs inside malloc and inside forked children, so it neither
 * allocates nor uses stdio, and it keeps errno as it found it.  Calls are made
 * directly, not through the C library's names: those are wrapped by the preload
 * library to see what the *program* does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "os/arch/syscall.h"
#include "os/os.h"

/* Up to six arguments of any integer or pointer type; result or -errno. */
#define CALL(...) CALL_PADDED(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_PADDED(nr, a, b, c, d, e, f, ...)                                 \
	raw_syscall((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d),    \
		    (long)(e), (long)(f))

static bool is_error(long result)
{
	return result < 0 && result >= -4095;
}

static int kernel_unmap(void *addr, size_t len)
{
	return (int)CALL(SYS_munmap, addr, len);
}

/*
 * Map more than wanted and cut both ends off: one call where the alignment is
 * a page, up to three where it is more.  A cut that fails (too many mappings)
 * would leave memory that nobody owns, so then all of it goes back.
 */
static int map_aligned(size_t len, size_t align, int prot, int flags,
		       void **out)
{
	size_t extra = align > PAGE_SIZE ? align - PAGE_SIZE : 0;
	size_t total;

	if (__builtin_add_overflow(len, extra, &total))
		return -ENOMEM;
	long base = CALL(SYS_mmap, NULL, total, prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (is_error(base))
		return (int)base;

	uintptr_t start = ((uintptr_t)base + align - 1) & ~(align - 1);
	size_t front = start - (uintptr_t)base;
	size_t back = extra - front;

	if ((front && kernel_unmap((void *)base, front)) ||
	    (back && kernel_unmap((void *)(start + len), back))) {
		kernel_unmap((void *)base, total);
		return -ENOMEM;
	}
	*out = (void *)start;
	return 0;
}

static int kernel_map(size_t len, size_t align, void **out)
{
	return map_aligned(len, align, PROT_READ | PROT_WRITE, 0, out);
}

/*
 * The kernel aligns what comes from its pool by itself; asking for more than is
 * wanted, to cut it, would set aside pages that may not be there.
 */
static int kernel_map_backed(size_t len, size_t align, enum os_backing backing,
			     void **out)
{
	if (backing == OS_LAZY)
		return map_aligned(len, align, PROT_READ | PROT_WRITE,
				   MAP_NORESERVE, out);
	if (align > HUGE_SIZE)
		return -EINVAL;
	return map_aligned(len, PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_HUGETLB | HUGE_SHIFT << MAP_HUGE_SHIFT, out);
}

static int kernel_reserve(size_t len, size_t align, void **out)
{
	return map_aligned(len, align, PROT_NONE, MAP_NORESERVE, out);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int kernel_advise(void *addr, size_t len, enum os_advice advice)
{
	static const int linux_advice[] = {
		[OS_DISCARD] = MADV_DONTNEED,
		[OS_HUGE] = MADV_HUGEPAGE,
		[OS_NO_HUGE] = MADV_NOHUGEPAGE,
		[OS_POPULATE] = MADV_POPULATE_WRITE,
		[OS_NO_DUMP] = MADV_DONTDUMP,
		[OS_NO_FORK] = MADV_DONTFORK,
	};
	return (int)CALL(SYS_madvise, addr, len, linux_advice[advice]);
}

/* The kernel looks at one bit less than it is told. */
static int kernel_place(void *addr, size_t len, enum os_policy policy,
			const struct os_nodes *nodes)
{
	return (int)CALL(SYS_mbind, addr, len,
			 policy == OS_BIND ? MPOL_BIND : MPOL_INTERLEAVE,
			 nodes->bits, nodes->nr + 1, 0);
}

static int kernel_resident(void *addr, size_t len, unsigned char *pages)
{
	return (int)CALL(SYS_mincore, addr, len, pages);
}

static int kernel_move(void *old, size_t old_len, void *dst, size_t new_len)
{
	long to = CALL(SYS_mremap, old, old_len, new_len,
		       MREMAP_MAYMOVE | MREMAP_FIXED, dst);
	return is_error(to) ? (int)to : 0;
}

static uint64_t kernel_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static long kernel_read_file(const char *path, char *buf, size_t len)
{
	long fd = CALL(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	size_t have = 0;
	long got = 0;

	if (is_error(fd))
		return fd;
	while (have + 1 < len) {
		got = CALL(SYS_read, (int)fd, buf + have, len - 1 - have);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	CALL(SYS_close, (int)fd);
	if (got < 0)
		return got;
	buf[have] = 0;
	return (long)have;
}

static int kernel_share(const char *path, size_t len, void **out)
{
	long fd = CALL(SYS_openat, AT_FDCWD, path,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (is_error(fd))
		return (int)fd;
	long result = CALL(SYS_ftruncate, (int)fd, len);
	if (!is_error(result))
		result = CALL(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE,
			      MAP_SHARED, (int)fd, 0);
	CALL(SYS_close, (int)fd);
	if (is_error(result))
		return (int)result;
	*out = (void *)result;
	return 0;
}

static unsigned int kernel_nr_cpus(void)
{
	unsigned long mask[1024 / sizeof(long)];
	long bytes = CALL(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned int nr = 0;

	for (long i = 0; i < bytes / (long)sizeof(long); i++)
		nr += (unsigned int)__builtin_popcountl(mask[i]);
	return nr ? nr : 1;
}

/*
 * glibc registers an area for each thread and says by symbols where; weak, so
 * that a C library without them gives NULL.  An area that somebody else has
 * registered cannot be found.
 */
extern const unsigned int glibc_rseq_size __asm__("__rseq_size")
	__attribute__((weak));
extern const ptrdiff_t glibc_rseq_offset __asm__("__rseq_offset")
	__attribute__((weak));

static int kernel_rseq_offset(ptrdiff_t *out)
{
	if (!&glibc_rseq_size || !glibc_rseq_size || !&glibc_rseq_offset)
		return -ENOSYS;
	*out = glibc_rseq_offset;
	return 0;
}

static int kernel_restart_register(void)
{
	return (int)CALL(SYS_membarrier,
			 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ);
}

static int kernel_restart_others(int cpu)
{
	return (int)CALL(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
			 cpu < 0 ? 0 : MEMBARRIER_CMD_FLAG_CPU, cpu);
}

static void kernel_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ms / 1000),
		.tv_nsec = (long)(timeout_ms % 1000) * 1000000,
	};
	CALL(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
	     timeout_ms == UINT64_MAX ? NULL : &timeout, NULL, 0);
}

static void kernel_wake(uint32_t *word)
{
	CALL(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Threads */

_Static_assert(sizeof(pthread_t) == sizeof(unsigned long), "os_thread.id");

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/*
 * A table of descriptors of its own, empty.  In the program's a file that the
 * thread has open for a moment would take the lowest number, and a program of
 * one thread counts on getting that.  A kernel before 5.11 refuses: then the
 * table is shared.  A sanitizer writes its report from wherever it is.
 */
static void leave_descriptors(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CALL(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
#endif
}

static void *thread_main(void *arg)
{
	struct os_thread *thread = arg;

	prctl(PR_SET_NAME, thread->name);
	thread->tid = (int)CALL(SYS_gettid);
	leave_descriptors();
	thread->body(thread->arg);
	return NULL;
}

/* The mask is inherited, so the thread never runs with signals open. */
static int create_with_signals_blocked(struct os_thread *thread)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int error;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setstacksize(&attr,
				  max_size(128 << 10, PTHREAD_STACK_MIN));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread->id, &attr, thread_main, thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

static int kernel_thread_start(const char *name, void (*body)(void *),
			       void *arg, struct os_thread *thread)
{
	int saved = errno;
	int error;
	size_t i;

	for (i = 0; i < sizeof(thread->name) - 1 && name[i]; i++)
		thread->name[i] = name[i];
	thread->name[i] = 0;
	thread->body = body;
	thread->arg = arg;
	error = create_with_signals_blocked(thread);
	errno = saved;
	return error;
}

static void kernel_thread_join(struct os_thread *thread)
{
	static const struct timespec step = { 0, 50000 };
	long pid = CALL(SYS_getpid);

	pthread_join(thread->id, NULL);
	/*
	 * The C library hears of the end a moment before the thread leaves the
	 * process, and unshare counts.  Bounded: a tracer may hold it.
	 */
	for (int i = 0; i < 20000; i++) {
		if (CALL(SYS_tgkill, pid, thread->tid, 0) == -ESRCH)
			return;
		CALL(SYS_nanosleep, &step, NULL);
	}
}

static int kernel_background(void)
{
	struct sched_param none = { 0 };

	return (int)CALL(SYS_sched_setscheduler, 0, SCHED_IDLE, &none);
}

static uint64_t kernel_thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int kernel_at_fork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void))
{
	return -pthread_atfork(prepare, parent, child);
}

const struct os_ops os_kernel = {
	.name = "kernel",
	.map = kernel_map,
	.map_backed = kernel_map_backed,
	.reserve = kernel_reserve,
	.unmap = kernel_unmap,
	.advise = kernel_advise,
	.place = kernel_place,
	.resident = kernel_resident,
	.move = kernel_move,
	.now_ms = kernel_now_ms,
	.read_file = kernel_read_file,
	.share = kernel_share,
	.thread_start = kernel_thread_start,
	.thread_join = kernel_thread_join,
	.background = kernel_background,
	.thread_ns = kernel_thread_ns,
	.at_fork = kernel_at_fork,
	.nr_cpus = kernel_nr_cpus,
	.rseq_offset = kernel_rseq_offset,
	.restart_register = kernel_restart_register,
	.restart_others = kernel_restart_others,
	.wait = kernel_wait,
	.wake = kernel_wake,
};

const struct os_ops *os = &os_kernel;

/* A panic says one line on stderr and aborts; no allocation, no stdio. */
static void write_text(const char *text)
{
	size_t len = 0;
	long fd;

	while (text[len])
		len++;
	if (CALL(SYS_write, 2, text, len) != -EBADF)
		return;
	/* Perhaps a helper thread: that of the process, then. */
	fd = CALL(SYS_openat, AT_FDCWD, "/proc/self/fd/2",
		  O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (is_error(fd))
		return;
	CALL(SYS_write, fd, text, len);
	CALL(SYS_close, fd);
}

static void panic_to_stderr(const char *what, const char *file, int line)
{
	char digits[12];
	size_t at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + line % 10);
		line /= 10;
	} while (line && at);
	write_text("quire: broken internal state: ");
	write_text(what);
	write_text(" at ");
	write_text(file);
	write_text(":");
	write_text(digits + at);
	write_text("\n");
	CALL(SYS_kill, CALL(SYS_getpid), SIGABRT);
}

__attribute__((constructor)) static void set_panic_hook(void)
{
	panic_hook = panic_to_stderr;
}
