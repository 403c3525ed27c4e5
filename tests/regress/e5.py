# SPDX-License-Identifier: MIT
"""E5: little address space, few mappings, no threads to be had."""
import resource

import regress as r

LIMITS = (
    ("2 GiB of address space", resource.RLIMIT_AS, 2 << 30),
    ("300 MiB of address space", resource.RLIMIT_AS, 300 << 20),
    ("1 GiB of data", resource.RLIMIT_DATA, 1 << 30),
    ("no core, no files to write", resource.RLIMIT_FSIZE, 0),
    ("10 descriptors", resource.RLIMIT_NOFILE, 10),
    ("3 descriptors", resource.RLIMIT_NOFILE, 3),
    ("64 KiB locked", resource.RLIMIT_MEMLOCK, 65536),
    ("little stack", resource.RLIMIT_STACK, 256 << 10),
)
USE = ("import sys\n"
       "x = [bytearray(1 << 20) for _ in range(60)]\n"
       "del x\n"
       "for i in range(200): b = bytearray(3 << 20)\n"
       "print('done')")
for what, kind, value in LIMITS:
    def limit(kind=kind, value=value):
        resource.setrlimit(kind, (value, value))
    for options in ("", "thread_min=1M"):
        plain = r.run(["early"], quire=False, preexec_fn=limit)
        ours = r.run(["early"], options=options, preexec_fn=limit)
        r.check(f"{what}: early {options}",
                ours.returncode == plain.returncode and
                ours.stdout == plain.stdout, r.tail(ours))
    if kind == resource.RLIMIT_NOFILE:
        continue
    plain = r.run(["python3", "-c", USE], quire=False, preexec_fn=limit)
    ours = r.run(["python3", "-c", USE], options="thread_min=1M",
                 preexec_fn=limit)
    r.check(f"{what}: python", ours.returncode == plain.returncode and
            ours.stdout == plain.stdout, r.tail(ours))
r.skip("overcommit_memory=2", "a setting of the whole machine")
r.finish()
