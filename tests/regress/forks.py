# SPDX-License-Identifier: MIT
"""Children of all kinds, while threads allocate; threads that end."""
import os

import regress as r

# QUIRE_MANY=1: the long run, with 10,000 forks
MANY = os.environ.get("QUIRE_MANY")
CASES = (
    ("fork", 200, 8), ("fork", 60, 0), ("vfork", 40, 4), ("spawn", 40, 4),
    ("_Fork", 300, 0), ("clone", 300, 0), ("raw", 300, 0), ("clone", 60, 4),
    ("nested", 30, 3), ("exec", 40, 2), ("exit", 60, 2), ("threads", 30, 16),
    ("cancel", 20, 8), ("signals", 300, 3),
    ("handler", 400, 0),
)
for way, count, threads in CASES:
    for options in ("", "thread_min=1M,decay=1ms"):
        n, limit = count, 60
        if MANY:
            long_one = (way, threads) == ("fork", 8) and options
            n, limit = count * (50 if long_one else 3), 1200
        done = r.run(["forks", way, str(n), str(threads)], options=options,
                     timeout=limit)
        r.check(f"{way}, {n} with {threads} threads, "
                f"{options or 'usual options'}", done.returncode == 0,
                r.tail(done, 2))
r.finish()
