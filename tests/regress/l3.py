# SPDX-License-Identifier: MIT
"""L3: exactly what the C library does; nothing left for the next user."""
import regress as r

plain = r.run(["semantics"], quire=False)
print("     ", len(plain.stdout.splitlines()), "lines to compare")
for options in ("", "decay=0", "thread_min=1M,decay=2ms,shards=1",
                "keep=4096,thp=never", "threshold=4K"):
    ours = r.run(["semantics"], options=options)
    same = plain.stdout == ours.stdout
    differs = [(a, b) for a, b in zip(plain.stdout.splitlines(),
                                      ours.stdout.splitlines()) if a != b]
    r.check(f"transcript of the malloc family, {options or 'usual options'}",
            same and plain.returncode == ours.returncode == 0,
            "" if same else f"{r.tail(ours, 1)} {differs[:2]}")

for options in ("", "thread_min=1M,decay=2ms", "decay=0"):
    done = r.run(["mapping"], options=options)
    for line in done.stdout.decode().splitlines():
        if not options or line.startswith(("LEFT", "skip")):
            print("     ", line)
    r.check(f"blocks whose mapping was changed, {options or 'usual options'}",
            done.returncode == 0, r.tail(done, 3))
r.finish()
