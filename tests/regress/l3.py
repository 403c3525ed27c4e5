# SPDX-License-Identifier: MIT
"""L3: exactly what the C library does; nothing left for the next user."""
import regress as r

for options in ("", "decay=0", "thread_min=1M,decay=2ms", "shards=1",
                "keep=4096", "thp=never", "thp=always", "threshold=4K"):
    if options:
        plain_options = f" with {options}"
    else:
        plain_options = ""
    plain, ours = r.same("transcript of the malloc family" + plain_options,
                         ["semantics"], options=options)
print(len(plain.stdout.splitlines()), "lines compared")

for options in ("", "thread_min=1M,decay=2ms", "decay=0", "shards=1"):
    done = r.run(["mapping"], options=options)
    for line in done.stdout.decode().splitlines():
        if not options or line.startswith(("LEFT", "skip")):
            print("     ", line)
    r.check(f"blocks whose mapping was changed, {options or 'usual options'}",
            done.returncode == 0, r.tail(done, 3))
r.finish()
