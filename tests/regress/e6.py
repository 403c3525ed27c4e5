# SPDX-License-Identifier: MIT
"""E6: large blocks touched once in 2 MiB, under each policy of huge pages."""
import os

import regress as r

MIB = 512


def resident(call, **more):
    done = r.run(["resident", "sparse", call, str(MIB)], **more)
    words = dict(line.split() for line in done.stdout.decode().splitlines())
    return int(words["touched"]) // 1024


try:
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
        print("      the system's setting:", file.read().strip())
except OSError:
    r.skip_all("no transparent huge pages in this kernel")
for call in ("malloc", "calloc", "memalign", "realloc"):
    plain = resident(call, quire=False)
    for thp in ("auto", "always", "never"):
        mib = resident(call, options=f"thp={thp}")
        off = resident(call, options=f"thp={thp}", env={"NO_HUGE": "1"})
        # what policy promises to stay sparse; else the block is all there is
        sparse = thp == "never" or (thp == "auto" and call == "calloc")
        bound = plain + 16 if sparse else MIB + 32
        r.check(f"{call} of {MIB} MiB, thp={thp}", mib <= bound,
                f"{mib} MiB resident, plain {plain}")
        r.check(f"{call} of {MIB} MiB, thp={thp}, huge pages off in the "
                "process", off <= plain + 16, f"{off} MiB resident")
r.finish()
