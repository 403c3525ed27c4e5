# SPDX-License-Identifier: MIT
"""E8: memory is back within the decay time, without any further call."""
import os

import regress as r


def words(command, options):
    done = r.run(["resident", *command], options=options, timeout=60)
    return {key: int(value) // 1024 for key, value in
            (line.split() for line in done.stdout.decode().splitlines())}


with open("/proc/meminfo") as file:
    have = int(next(line for line in file
                    if line.startswith("MemAvailable")).split()[1]) >> 10
size = 4096 if have > 6000 else max(256, have // 4)
for blocks in (1, 16, size):
    found = words(["burst", str(size), str(blocks), "2000"], "decay=1s")
    r.check(f"{size} MiB in {blocks} blocks, 2 s after the free",
            found["later"] < 40 and found["alive"] >= size, str(found))
found = words(["burst", "200", "1000", "2000"], "decay=1s")
r.check("200 MiB in blocks of 200 KiB", found["later"] < 20, str(found))
found = words(["burst", "256", "8", "100"], "decay=0")
r.check("decay=0: at once", found["freed"] < 20, str(found))
# Less than is worth a thread: given back by later calls.
found = words(["small", "300", "200", "1200"], "decay=1s")
r.check("60 MiB: given back by later calls", found["later"] < 20, str(found))
# What is kept is not copied by a fork.
found = words(["inherit", "50"], "decay=100s")
r.check("50 MiB kept, then fork: given back before",
        found["freed"] > 50 and max(found["parent"], found["child"],
                                    found["again"]) < 20, str(found))
r.finish()
