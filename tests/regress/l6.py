# SPDX-License-Identifier: MIT
"""L6: relative paths and changed folders; the user's own preloads and tunables."""
import os

import regress as r

CHDIR = r"""
#include <unistd.h>
#include <stdlib.h>
__attribute__((constructor)) static void go(void)
{
	char *p = malloc(2 << 20);
	if (chdir("/")) abort();
	free(p);
}
"""
# The user's own wrappers of what we wrap too: each must still be called.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
ssize_t write(int, const void *, size_t);
static void said(const char *what) { write(2, what, strlen(what)); }
#define NEXT(name) dlsym(RTLD_NEXT, #name)
void *mmap(void *a, size_t b, int c, int d, int e, off_t f)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);
	if (!next) next = NEXT(mmap);
	said("mmap\n");
	return next(a, b, c, d, e, f);
}
int munmap(void *a, size_t b)
{
	int (*next)(void *, size_t) = NEXT(munmap);
	said("munmap\n");
	return next(a, b);
}
int madvise(void *a, size_t b, int c)
{
	int (*next)(void *, size_t, int) = NEXT(madvise);
	said("madvise\n");
	return next(a, b, c);
}
int mprotect(void *a, size_t b, int c)
{
	int (*next)(void *, size_t, int) = NEXT(mprotect);
	said("mprotect\n");
	return next(a, b, c);
}
int prctl(int a, long b, long c, long d, long e)
{
	int (*next)(int, long, long, long, long) = NEXT(prctl);
	said("prctl\n");
	return next(a, b, c, d, e);
}
int unshare(int a)
{
	int (*next)(int) = NEXT(unshare);
	said("unshare\n");
	return next(a);
}
long syscall(long n, long a, long b, long c, long d, long e, long f)
{
	long (*next)(long, long, long, long, long, long, long) = NEXT(syscall);
	said("syscall\n");
	return next(n, a, b, c, d, e, f);
}
void _exit(int a)
{
	void (*next)(int) = NEXT(_exit);
	said("_exit\n");
	next(a);
	for (;;);
}
"""
USER = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	void *p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p, 4096, 1);
	madvise(p, 4096, 4);
	munmap(p, 8192);
	prctl(PR_SET_NAME, "x", 0, 0, 0);
	unshare(CLONE_FS);
	syscall(SYS_gettid);
	free(malloc(3 << 20));
	_exit(4);
}
"""
chdir = r.compile_c("chdir.so", CHDIR, "-shared", "-fPIC")
counter = r.compile_c("counter.so", COUNTER, "-shared", "-fPIC")
user = r.compile_c("user", USER)
if not (chdir and counter and user):
    r.skip_all("no C compiler")

os.chdir(r.TEMP)
folder = os.path.dirname(r.LIBRARY)
os.symlink(r.LIBRARY, "relative.so")
for preload in (f"{r.LIBRARY}:{chdir}", f"{r.LIBRARY} {chdir}",
                "./relative.so:./chdir.so"):
    done = r.run(["sh", "-c", "pwd; true"], quire=False, preload=preload)
    r.check(f"a shim that changes directory, {len(preload)} letters",
            done.returncode == 0 and done.stdout == b"/\n", r.tail(done))

plain, ours = r.same("the user's own wrappers are called as without us",
                     [user], preload=counter)
print("     ", plain.stderr.decode().split())
r.check("... all of them", plain.returncode == 4 and
        len(set(plain.stderr.split())) >= 8, r.tail(plain, 12))
before = r.run([user], quire=False, preload=f"{counter}:{r.LIBRARY}")
r.check("... also when they stand before us", before.stderr.split()[:3] ==
        plain.stderr.split()[:3] and before.returncode == 4, r.tail(before))

for tunables in ("glibc.malloc.check=3", "glibc.malloc.hugetlb=1",
                 "glibc.malloc.perturb=85", "glibc.malloc.arena_max=1",
                 "glibc.malloc.mmap_threshold=4096",
                 "glibc.malloc.mmap_max=0:glibc.malloc.tcache_count=0",
                 "glibc.pthread.rseq=0"):
    r.same(f"GLIBC_TUNABLES={tunables}", ["early"],
           env={"GLIBC_TUNABLES": tunables})
    done = r.run(["sh", "-c", "echo $GLIBC_TUNABLES"],
                 env={"GLIBC_TUNABLES": tunables})
    r.check("... is still there", done.stdout.decode().strip() == tunables,
            r.tail(done))
r.same("MALLOC_PERTURB_", ["early"], env={"MALLOC_PERTURB_": "165"})
r.same("libc_malloc_debug", ["early"], preload="libc_malloc_debug.so.0",
       env={"GLIBC_TUNABLES": "glibc.malloc.check=3"})
r.finish()
