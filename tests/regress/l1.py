# SPDX-License-Identifier: MIT
"""L1: programs of all kinds, also those that no preload library reaches."""
import os
import stat

import regress as r

HELLO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char *p = calloc(1, 3 << 20);
	memset(p, 1, 3 << 20);
	p = realloc(p, 9 << 20);
	puts(p[2 << 20] == 1 ? "hello" : "bad");
	free(p);
	puts(getenv("LD_PRELOAD") ? "preload set" : "preload not set");
	return 7;
}
"""
SET_UID = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	free(malloc(5 << 20));
	printf("uid %d euid %d preload %d options %d\n", (int)getuid(),
	       (int)geteuid(), !!getenv("LD_PRELOAD"),
	       !!getenv("QUIRE_OPTIONS"));
	return 0;
}
"""
CLEANER = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **v)
{
	char *p = malloc(4 << 20);
	char *const none[] = {NULL}, *const args[] = {v[1], NULL};
	memset(p, 1, 4 << 20);
	unsetenv("LD_PRELOAD");
	if (!fork()) { execv(v[1], args); _exit(127); }
	wait(NULL);
	clearenv();
	free(p);
	p = malloc(6 << 20);
	if (!fork()) { execve(v[1], args, none); _exit(127); }
	wait(NULL);
	environ = NULL;
	free(p);
	free(malloc(8 << 20));
	setenv("A", "b", 1);
	execv(v[1], args);
	return 1;
}
"""
SCRIPT = """
import subprocess, multiprocessing, threading, zlib
data = bytes(range(256)) * 20000
assert zlib.decompress(zlib.compress(data, 1)) == data
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
big = [bytearray(1 << 20) for _ in range(20)]
threads = [threading.Thread(target=lambda: bytearray(5 << 20))
           for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(big), sum(map(len, big)))
"""

r.same("true", ["true"])
r.same("false", ["false"])
r.same("python", ["python3", "-c", SCRIPT])
r.same("python with a helper thread", ["python3", "-c", SCRIPT],
       options="thread_min=1M,decay=5ms")
r.same("shell with children and a pipe", [
    "sh", "-c", "for i in 1 2 3; do (echo $i; ls /etc | wc -l) | cat; done; "
    "x=$(head -c 300000 /dev/zero | tr '\\0' a); echo ${#x}; exit 5"])
for name in ("bash", "dash", "perl", "awk"):
    if not r.find(name):
        r.skip(name, "not here")
for shell in filter(r.find, ("bash", "dash")):
    r.same(f"{shell}: a value of 400 KB", [
        shell, "-c", "x=$(head -c 400000 /dev/zero | tr '\\0' a); echo ${#x}"])
if r.find("perl"):
    r.same("perl", ["perl", "-e", "my $x = 'a' x 9_000_000; $x .= $x;"
                    "my %h = map { $_ => 'b' x 1000 } 1..9000;"
                    "print length($x), ' ', scalar(keys %h), \"\\n\""])
if r.find("awk"):
    r.same("awk", ["awk", "BEGIN { for (i = 0; i < 20000; i++) s = s i; "
                   "print length(s) }"])
r.same("env -i", ["env", "-i", "/bin/sh", "-c", "echo ${LD_PRELOAD:-none}"])
r.same("closed standard descriptors",
       ["sh", "-c", "exec 0<&- 2>&-; ls / | wc -l"])

hello = r.compile_c("hello", HELLO)
if hello:
    plain = r.run([hello])
    r.check("a C program", plain.returncode == 7 and
            plain.stdout == b"hello\npreload set\n", r.tail(plain))
    # a file that is no program for this machine
    r.same("no program", ["sh", "-c", "/etc/passwd; echo $?"])
    cleaner = r.compile_c("cleaner", CLEANER)
    done = r.run([cleaner, hello])
    r.check("a program that cleans the environment of its children",
            done.returncode == 7 and done.stdout ==
            b"hello\npreload not set\n" * 3, r.tail(done))
    static = r.compile_c("static", HELLO, "-static")
    if static:
        done = r.run([static])
        r.check("a static program runs as without", done.returncode == 7 and
                done.stdout.startswith(b"hello"), r.tail(done))
    else:
        r.skip("static program", "no static C library")
    for flags in (["-static-pie"], ["-no-pie"], ["-Wl,-z,now"], ["-pthread"]):
        other = r.compile_c("other", HELLO, *flags)
        if other:
            done = r.run([other])
            r.check("linked with " + flags[0], done.returncode == 7 and
                    done.stdout.startswith(b"hello"), r.tail(done))
else:
    r.skip("C programs", "no C compiler")

setuid = r.compile_c("setuid", SET_UID)
if os.geteuid() != 0:
    r.skip("set-uid program", "not root")
elif setuid:
    os.chown(setuid, 65534, 65534)
    os.chmod(setuid, os.stat(setuid).st_mode | stat.S_ISUID)
    os.chmod(r.TEMP, 0o755)
    # ld.so takes LD_PRELOAD out of the environment of a set-uid program
    done = r.run([setuid], options="thread_min=1M")
    if b"euid 0 " in done.stdout:
        r.skip("set-uid program", f"{r.TEMP} is mounted nosuid")
    else:
        r.check("a set-uid program runs, without us",
                done.returncode == 0 and b"preload 0" in done.stdout,
                r.tail(done))
for options, wanted in (("threshold=1x", b"bad value"), ("nonsense", b"unknown"),
                        ("decay=0,shards=1", b""), ("help", b"threshold"),
                        (",,,", b""), ("keep=", b"bad value"),
                        ("threshold=999999999999999999999999", b"bad value"),
                        ("stat_dir=" + "x" * 5000, b""),
                        ("stat_dir=/nonexistent/folder", b"")):
    done = r.run(["sh", "-c", "exit 3"], options=options)
    r.check(f"QUIRE_OPTIONS={options[:40]}", done.returncode == 3 and
            not done.stdout and wanted in done.stderr, r.tail(done))
r.finish()
