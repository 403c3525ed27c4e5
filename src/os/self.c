/* SPDX-License-Identifier: MIT */
/*
 * The process seen from inside, by system calls.
 *
 * self_image mixes the 16 random bytes that the kernel gives every image it
 * starts.  They also seed the C library's stack guard, so they are never
 * handed out as they are: only 64 bits of a mix of all 128 leave this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "os/self.h"

uint32_t self_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

uint32_t self_parent(void)
{
	return (uint32_t)syscall(SYS_getppid);
}

uint64_t self_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void self_exe(char *buf, size_t len)
{
	int saved = errno;
	long got = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf,
			   len - 1);

	errno = saved;
	buf[got > 0 ? got : 0] = 0;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9fb21c651e98df25u;
	x ^= x >> 28;
	return x;
}

uint64_t self_image(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t half[2] = { 0, 0 };

	if (random)
		memcpy(half, random, sizeof(half));
	return mix(mix(half[0]) + (half[1] << 17 | half[1] >> 47));
}

uint64_t self_peak_rss(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_SELF, &use))
		return 0;
	return (uint64_t)use.ru_maxrss << 10;
}

static bool is_limited(int resource)
{
	struct rlimit limit;

	return !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

bool self_address_space_is_limited(void)
{
	return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

bool self_may_write(size_t len)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= len;
}

uint32_t *self_fork_word(void)
{
	int saved = errno;
	uint32_t *word = (uint32_t *)syscall(
		SYS_mmap, NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	if (word == MAP_FAILED) {
		word = NULL;
	} else if (syscall(SYS_madvise, word, PAGE_SIZE, MADV_WIPEONFORK)) {
		syscall(SYS_munmap, word, PAGE_SIZE);
		word = NULL;
	} else {
		*word = 1;
	}
	errno = saved;
	return word;
}
