# SPDX-License-Identifier: MIT
"""Programs that compute: the same output, error output and status."""
import os
import sys

from programs import r

only = os.environ.get("QUIRE_ONLY", "").split()
HELPER = "thread_min=4M,decay=5ms"


def both(what, command, **more):
    r.same(what, command, timeout=600, **more)
    r.same(what + ", helper thread", command, options=HELPER, timeout=600,
           **more)


def path(name, text=None):
    full = os.path.join(r.TEMP, name)
    if text is not None:
        with open(full, "w") as file:
            file.write(text)
    return full


def numpy():
    python = next((p for p in (sys.executable, "/usr/bin/python3")
                   if os.path.exists(p) and not r.run(
                       [p, "-c", "import numpy"], quire=False).returncode),
                  None)
    if not python:
        return r.skip("numpy", "not installed")
    script = path("numbers.py", """
import hashlib
import threading
import numpy as np
rng = np.random.default_rng(5)
for size in (25_000, 250_000, 1_000_000, 4_000_000):
    a = rng.standard_normal(size)
    live = []
    for i in range(12):
        live.append(np.sqrt(np.abs(a * i) + 1.0))
        live = live[-8:]
        a = np.concatenate([live[-1][size // 2:], a[:size // 2]])
    print(size, hashlib.sha1(a.tobytes()).hexdigest())
z = np.zeros((3000, 3000), dtype=np.float32)
z[::100, ::100] = 1
print(float(z.sum()), np.sort(rng.integers(0, 9, 3_000_000))[1_500_000])
print(hashlib.sha1(np.fft.fft(a[:1 << 18]).tobytes()).hexdigest())
a.resize(5_000_000, refcheck=False)
print(float(a[4_999_999]))
sums = [0.0] * 4
def work(k):
    x = np.arange(500_000, dtype=np.float64) + k
    for i in range(60):
        x = np.sqrt(x * x + i)
    sums[k] = float(x.sum())
t = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[x.start() for x in t], [x.join() for x in t]
print(sums)
""")
    both("numpy", [python, script])


def imagemagick():
    if not r.find("convert"):
        return r.skip("imagemagick", "not installed: convert")
    both("convert", ["convert", "-size", "1500x1200", "plasma:red-blue",
                     "-seed", "3", "-blur", "0x2", "-format", "%w %h %m",
                     "info:"])
    image = path("image.ppm")
    r.run(["convert", "-size", "1600x1100", "gradient:red-green", image],
          quire=False)
    both("convert of a picture", ["convert", image, "-resize", "150%",
                                  "-sharpen", "0x1", "-rotate", "12",
                                  "rgb:-"])


def xz():
    if not r.find("xz"):
        return r.skip("xz", "not installed")
    text = path("text", "".join(f"{i * 2654435761 % 4294967296:x} some words "
                                f"and {i}\n" for i in range(400000)))
    both("xz -9", ["xz", "-9", "-c", text])
    both("xz -9 -T2", ["xz", "-3", "-T2", "-c", text])
    both("xz there and back", ["sh", "-c", f"xz -9 -c {text} | xz -dc | "
                               "sha256sum"])
    for name in ("gzip", "bzip2", "zstd"):
        if r.find(name):
            both(name, [name, "-c", text])


def sort():
    lines = path("lines", "".join(f"{i * 7919 % 1000003:07d} line {i}\n"
                                  for i in range(1_000_000)))
    both("sort -S 200M", ["sort", "-S", "200M", "--parallel=4", lines])
    both("sort -S 5M", ["sort", "-S", "5M", "-T", r.TEMP, "-r", lines])


def compilers():
    if not r.find("gcc"):
        return r.skip("gcc", "not installed")
    source = path("large.c", "".join(
        f"int f{i}(int a, int *b) {{ int s = {i}; for (int k = 0; k < a; k++) "
        f"s += b[k] * {i % 97} ^ (s >> {i % 13}); "
        f"return s{f' + f{i - 1}(a / 2, b)' if i else ''}; }}\n"
        for i in range(1500)))
    both("gcc -O2 of a large file", ["gcc", "-O2", "-S", source, "-o", "-"])
    if r.find("g++"):
        vector = path("vector.cpp", """
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>
int main()
{
	std::vector<std::thread> threads;
	std::vector<unsigned long> sums(8);
	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back([t, &sums] {
			std::vector<std::string> all;
			std::map<unsigned, std::vector<char>> big;
			std::vector<unsigned> v;
			for (unsigned i = 0; i < 2000000; i++)
				v.push_back(i * 2654435761u ^ t);
			std::sort(v.begin(), v.end());
			for (unsigned i = 0; i < 300; i++)
				big[i % 20].assign(150000 + i * 3000, char(i));
			sums[t] = v[1000000] + big[7].size();
		});
	for (auto &t : threads) t.join();
	for (auto s : sums) std::printf("%lu\\n", s);
}
""")
        program = path("vector")
        r.same("g++ -O2", ["g++", "-O2", "-pthread", vector, "-o", program],
               timeout=300)
        both("a C++ program with growing vectors in threads", [program])
    if r.find("clang"):
        both("clang -O2", ["clang", "-O2", "-S", source, "-o", "-"])


def sqlite():
    if not r.find("sqlite3"):
        return r.skip("sqlite3", "not installed")
    both("sqlite3", ["sqlite3", ":memory:", """
pragma cache_size = -200000;
create table t(a integer primary key, b text, c blob);
with recursive n(x) as (select 1 union all select x+1 from n where x < 200000)
insert into t select x, hex(x * 7919), zeroblob(x % 500) from n;
create index i on t(b);
select count(*), sum(length(c)), max(b) from t;
select length(group_concat(b)) from t;
insert into t values(1000000, 'big', zeroblob(30000000));
update t set c = c || zeroblob(1000) where a > 199000;
select sum(length(c)), length(hex(zeroblob(3000000))) from t;
delete from t where a % 3 = 0; vacuum;
select count(*) from t a join t b on a.b = b.b;
"""])


def git():
    if not r.find("git"):
        return r.skip("git", "not installed")
    env = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "HOME": r.TEMP,
           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
           "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
           "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    script = path("git.sh", """
set -e
cd "$(mktemp -d -p "$1")"
git init -q -b main one && cd one
for i in 1 2 3 4 5 6; do
	seq 1 90000 | sed "s/7/x$i/g" >big
	seq $i $((i * 3000)) >small$i
	git add . && git commit -qm "number $i"
done
git gc -q --aggressive
git fsck
git clone -q . ../two && cd ../two
git log --oneline
git rev-parse HEAD
git show HEAD~2 | cksum
git blame big | cut -c 1-8 | sort | uniq -c | sort -n | head
""")
    r.same("git", ["sh", script, r.TEMP], env=env, timeout=600)
    r.same("git, helper thread", ["sh", script, r.TEMP], env=env, timeout=600,
           options=HELPER)


def perl():
    if not r.find("perl"):
        return r.skip("perl", "not installed")
    both("perl", ["perl", "-e", """
my %h; $h{$_ * 7919 % 300007} = "v" x ($_ % 300) for 1 .. 300000;
my $s = join ',', map { "$_=$h{$_}" } sort { $a <=> $b } keys %h;
my @parts = split /,/, $s; my $r = reverse $s; $r =~ s/1/22/g;
print length($s), " ", scalar(@parts), " ", length($r), "\n";
if (fork) { wait } else { $s .= $s; print length($s), "\n" }
"""])


def multiprocessing():
    script = path("many.py", """
import multiprocessing as mp
import os
def work(n):
    data = [bytes([n % 256]) * (200_000 + k * 1000) for k in range(40)]
    return n, sum(map(len, data)), b''.join(data)[:1_000_000].count(n % 256)
if __name__ == '__main__':
    big = bytearray(50 << 20)
    for method in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(method).Pool(4) as pool:
            print(method, sum(x[1] + x[2] for x in pool.map(work, range(60))))
    print(len(big))
""")
    for python in {sys.executable, "/usr/bin/python3"}:
        if os.path.exists(python):
            both(f"multiprocessing, {os.path.basename(python)}",
                 [python, script])


def node():
    if not r.find("node"):
        return r.skip("node", "not installed")
    both("node", ["node", "-e", """
const zlib = require('zlib'), { Worker, isMainThread } = require('worker_threads');
let all = [], sum = 0;
for (let i = 0; i < 300; i++) {
	const b = Buffer.alloc(100000 + i * 20000, i);
	sum += b[b.length - 1] + zlib.gunzipSync(zlib.gzipSync(b, {level: 1})).length;
	all.push(b); if (all.length > 20) all.shift();
}
const w = new Worker("require('worker_threads').parentPort.postMessage("
	+ "Buffer.alloc(5e6, 7).reduce((a, b) => a + b, 0))", {eval: true});
w.on('message', m => console.log(sum, m));
"""])


def java():
    if not (r.find("java") and r.find("javac")):
        return r.skip("java", "not installed")
    path("Big.java", """
import java.nio.ByteBuffer;
import java.util.*;
import java.util.stream.*;
import java.util.zip.*;
public class Big {
	public static void main(String[] v) throws Exception {
		long sum = IntStream.range(0, 400).parallel().mapToLong(i -> {
			ByteBuffer b = ByteBuffer.allocateDirect(100000 + i * 10000);
			b.put(b.capacity() - 1, (byte) i);
			byte[] a = new byte[200000 + i * 5000];
			Deflater d = new Deflater(1);
			d.setInput(a); d.finish();
			byte[] out = new byte[a.length];
			int n = d.deflate(out); d.end();
			return b.get(b.capacity() - 1) + a.length + n;
		}).sum();
		System.out.println(sum);
	}
}
""")
    r.same("javac", ["javac", "-d", r.TEMP, path("Big.java")], timeout=300)
    both("java", ["java", "-Xmx512m", "-cp", r.TEMP, "Big"])


for part in (numpy, imagemagick, xz, sort, compilers, sqlite, git, perl,
             multiprocessing, node, java):
    if not only or part.__name__ in only:
        part()
r.finish()
