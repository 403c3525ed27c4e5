# SPDX-License-Identifier: MIT
"""L2: allocations while the process is not started yet, or has ended."""
import os

import regress as r

# dlsym that allocates, as some shims' do, much and little and with zeros
DLSYM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
void *memalign(unsigned long, unsigned long);
void *dlvsym(void *, const char *, const char *);
static int depth;
void *dlsym(void *h, const char *name)
{
	static void *(*real)(void *, const char *);
	if (depth++ < 3) {
		char *a = malloc(100), *b = calloc(3, 50), *d;
		char *c = malloc(SIZE);
		if (a) memset(a, 1, 100);
		if (b && (b[0] || b[149])) abort();
		if (c) memset(c, 2, SIZE);
		a = realloc(a, 300);
		if (a && a[99] != 1) abort();
		d = memalign(64, 200);
		if ((unsigned long)d % 64) abort();
		free(d); free(c); free(b); free(a);
	}
	if (!real)
		real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!real)
		real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	void *found = real(h, name);
	depth--;
	return found;
}
"""
CONSTRUCTOR = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
static char *keep;
__attribute__((constructor(101))) static void start(void)
{
	keep = malloc(SIZE);
	memset(keep, 7, SIZE);
	free(calloc(1, SIZE));
	keep = realloc(keep, SIZE * 2);
}
__attribute__((destructor(101))) static void stop(void)
{
	if (keep[SIZE - 1] != 7) abort();
	free(keep);
	free(malloc(SIZE));
}
"""
# A wrapper of malloc before which, or behind which, we stand.
WRAPPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
static void *(*real)(size_t);
static void (*real_free)(void *);
void *malloc(size_t n)
{
	if (!real) real = dlsym(RTLD_NEXT, "malloc");
	return real(n);
}
void free(void *p)
{
	if (!real_free) real_free = dlsym(RTLD_NEXT, "free");
	real_free(p);
}
"""
# Fork handlers that use big blocks, registered before anybody allocates.
FORK = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char *p;
static void prepare(void) { p = malloc(1 << 20); memset(p, 1, 1 << 20); }
static void after(void) { free(p); free(malloc(3 << 20)); }
__attribute__((constructor(101))) static void start(void)
{
	pthread_atfork(prepare, after, after);
}
"""
PLUGIN = r"""
#include <stdlib.h>
#include <string.h>
static char *p;
__attribute__((constructor)) static void a(void)
{ p = malloc(2 << 20); memset(p, 1, 2 << 20); }
__attribute__((destructor)) static void b(void) { free(p); }
static __thread char big[100000];
char *touch(void) { big[5] = 1; return realloc(malloc(300000), 3000000); }
"""
LOADER = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
static void *body(void *path)
{
	for (int i = 0; i < 100; i++) {
		void *h = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
		if (!h) abort();
		char *(*touch)(void) = dlsym(h, "touch");
		char *p = touch();
		memset(p, 1, 3000000);
		free(p);
		dlclose(h);
	}
	return 0;
}
int main(int n, char **v)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, body, v[1]);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	return 0;
}
"""
SHELL = ["sh", "-c", "echo a | cat; (echo b); ls / >/dev/null; echo c"]

done = r.works("constructors, atexit, destructors, thread keys", ["early"])
r.check("... all ran and kept its content", done.stdout == b"good\n",
        r.tail(done))
r.same("the same with a helper thread", ["early"],
       options="thread_min=1M,decay=20ms")
r.same("the same with decay=0", ["early"], options="decay=0")

for size in (400, 5000, 200_000, 3_000_000):
    define = f"-DSIZE={size}"
    for name, text in (("dlsym", DLSYM), ("constructor", CONSTRUCTOR)):
        shim = r.compile_c(f"{name}{size}.so", text, "-shared", "-fPIC",
                           define, "-ldl")
        if not shim:
            r.skip(f"{name} {size}", "no C compiler")
            continue
        r.same(f"{name} that allocates {size}, behind us: true", ["true"],
               preload=shim)
        r.same(f"{name} {size}: early", ["early"], preload=shim)
        r.same(f"{name} {size}: shell", SHELL, preload=shim)
        ahead = r.run(["early"], quire=False, preload=f"{shim}:{r.LIBRARY}")
        r.check(f"{name} {size}, before us", ahead.stdout == b"good\n",
                r.tail(ahead))

for name, text, flags in (("wrapper", WRAPPER, []), ("fork", FORK, [])):
    shim = r.compile_c(f"{name}.so", text, "-shared", "-fPIC", *flags)
    if not shim:
        r.skip(name, "no C compiler")
        continue
    for what, preload in (("behind us", f"{r.LIBRARY}:{shim}"),
                          ("before us", f"{shim}:{r.LIBRARY}")):
        for command in (["early"], SHELL,
                        ["python3", "-c", "import os\nfor i in range(5):\n"
                         " p = os.fork()\n"
                         " b = bytearray(1 << 20)\n"
                         " if not p: os._exit(0)\n"
                         " os.waitpid(p, 0)"]):
            ran = r.run(command, quire=False, preload=preload, timeout=30)
            r.check(f"{name} shim {what}: {command[0]}", ran.returncode == 0,
                    r.tail(ran))

plugin = r.compile_c("plugin.so", PLUGIN, "-shared", "-fPIC")
loader = r.compile_c("loader", LOADER, "-pthread", "-ldl")
if plugin and loader:
    r.works("dlopen and dlclose in four threads", [loader, plugin])
    r.works("... with a helper thread", [loader, plugin],
            options="thread_min=1M,decay=1ms")
else:
    r.skip("dlopen loops", "no C compiler")
r.finish()
