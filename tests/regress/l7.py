# SPDX-License-Identifier: MIT
"""L7: name spaces, identities, sandboxes: as without us."""
import regress as r

plain = r.run(["identity", "1"], quire=False, timeout=120)
print("      the calls, plain:", sorted(
    {line for line in plain.stdout.decode().splitlines() if ": child" in line}))
for options in ("thread_min=1M", ""):
    ours = r.run(["identity", "1"], options=options, timeout=120)
    a, b = plain.stdout.splitlines(), ours.stdout.splitlines()
    differs = [(x, y) for x, y in zip(a, b) if x != y]
    r.check(f"all calls as without, {options or 'usual options'}",
            ours.returncode == plain.returncode and a == b,
            f"{r.tail(ours, 1)} {differs[:3]}" if a != b else "")
# The kernel forgets a joined thread a moment late.
for what in ("unshare user", "unshare user by number"):
    many = r.run(["identity", "8", what], options="thread_min=1M", timeout=60)
    plain = r.run(["identity", "8", what], quire=False, timeout=60)
    r.check(f"{what}, again and again", many.stdout == plain.stdout,
            r.tail(many))
r.finish()
