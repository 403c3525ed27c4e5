# SPDX-License-Identifier: MIT
"""
L8: a real memory group.  Full of file cache, kept memory stays; near its limit
with memory that cannot be dropped, kept memory is given back before the kernel
kills.
"""
import atexit
import os
import subprocess
import time

import regress as r

MIB = 1 << 20
LIMIT = 512
PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define M ((size_t)1 << 20)
static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, 0);
}
static long resident(void)
{
	long total = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
	if (f) fclose(f);
	return pages / 256;
}
int main(int n, char **v)
{
	char *block[25], *buffer;
	for (int i = 0; i < 25; i++) memset(block[i] = malloc(4 * M), 1, 4 * M);
	for (int i = 0; i < 25; i++) free(block[i]);
	printf("kept %ld\n", resident());
	fflush(stdout);
	if (!strcmp(v[1], "cache")) {
		int fd = open(v[2], O_RDONLY);
		buffer = mmap(0, M, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int k = 0; k < 2; k++) {
			lseek(fd, 0, SEEK_SET);
			while (read(fd, buffer, M) > 0) ;
			nap(300);
		}
	} else {
		/* not by malloc, so that nothing but the limit asks for it */
		long more = atol(v[2]);
		for (long i = 0; i < more; i += 4) {
			buffer = mmap(0, 4 * M, 3, MAP_PRIVATE | MAP_ANONYMOUS,
				      -1, 0);
			memset(buffer, 1, 4 * M);
			nap(4);
		}
		nap(400);
		printf("filled %ld\n", resident() - more);
		fflush(stdout);
	}
	printf("later %ld\n", resident());
	return 0;
}
"""

V1 = "/sys/fs/cgroup/memory"
V2 = "/sys/fs/cgroup"


def write(path, text):
    with open(path, "w") as file:
        file.write(str(text))


def make_group():
    if os.geteuid() != 0:
        r.skip_all("not root: no memory group can be made")
    first = os.path.exists(V1 + "/memory.limit_in_bytes")
    top = V1 if first else V2
    path = f"{top}/quire-test-{os.getpid()}"
    try:
        os.mkdir(path)
        atexit.register(os.rmdir, path)
        write(path + ("/memory.limit_in_bytes" if first else "/memory.max"),
              LIMIT * MIB)
        if first:
            write(path + "/memory.swappiness", 0)
    except OSError as error:
        r.skip_all(f"no memory group can be made: {error}")
    return path, first


program = r.compile_c("group", PROGRAM)
if not program:
    r.skip_all("no C compiler")
group, first = make_group()


def in_group(*command, quire=True):
    def enter():
        write(group + "/cgroup.procs", os.getpid())
    done = r.run([program, *map(str, command)], quire=quire,
                 options="decay=60s,thread_min=16M", preexec_fn=enter)
    found = dict(line.split() for line in done.stdout.decode().splitlines())
    return done, {key: int(value) for key, value in found.items()}


def used():
    name = "/memory.usage_in_bytes" if first else "/memory.current"
    with open(group + name) as file:
        return int(file.read()) // MIB


# On a disk: what lies in memory already cannot be dropped.
cached = os.path.join(os.getcwd(), f"quire-test-{os.getpid()}.tmp")
with open(cached, "wb") as file:
    for _ in range(700):
        file.write(bytes(MIB))
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
try:
    done, found = in_group("cache", cached)
    full = used()
finally:
    os.unlink(cached)
if full < LIMIT * 0.8:
    r.skip("a group full of file cache", f"only {full} of {LIMIT} MiB came "
           "to be in use: the files here are not charged")
else:
    r.check("full of file cache: kept memory stays", done.returncode == 0 and
            found.get("later", 0) > 100, f"{found} used {full} of {LIMIT}")

for more in (380, 400, 440):
    plain, _ = in_group("fill", more, quire=False)
    done, found = in_group("fill", more)
    r.check(f"filled by {more} of {LIMIT} MiB: nobody is killed",
            done.returncode == plain.returncode, r.tail(done))
    room = LIMIT - more - found.get("filled", LIMIT)
    r.check("... and kept memory is given back as it must be",
            room >= LIMIT // 10 - 8, f"{found}, {room} MiB left")
for _ in range(50):
    if not open(group + "/cgroup.procs").read():
        break
    time.sleep(0.1)
r.finish()
