# SPDX-License-Identifier: MIT
"""A few real programs, small: the same output with and without."""
import os
import sys

import regress as r

NUMPY = """
import numpy as np
a = np.arange(400000, dtype=np.float64)
t = 0.0
for i in range(30):
    b = np.sqrt(a * i + 1.0)
    c = np.concatenate([b, a[: i * 1000]])
    t += float(c.sum())
m = np.zeros((700, 700)) + np.eye(700)
print(round(t, 3), float((m @ m).trace()), int(np.sort(-a)[5]))
"""


def python_with_numpy():
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and r.run([python, "-c", "import numpy"],
                                            quire=False).returncode == 0:
            return python
    return None


python = python_with_numpy()
if python:
    r.same("numpy", [python, "-c", NUMPY])
    r.same("numpy with a helper thread", [python, "-c", NUMPY],
           options="thread_min=1M,decay=3ms")
else:
    r.skip("numpy", "no python with numpy")

lines = os.path.join(r.TEMP, "lines")
with open(lines, "w") as file:
    for i in range(60000):
        file.write(f"{i * 7919 % 60013:x} line {i}\n")
if r.find("sort"):
    r.same("sort", ["sort", "-S", "50M", lines])
    r.same("sort in small parts", ["sort", "-S", "1M", "-T", r.TEMP, lines])
if r.find("xz"):
    r.same("xz", ["xz", "-6", "-T2", "-c", lines])
    r.same("xz and back", ["sh", "-c", f"xz -9 -c {lines} | xz -dc | cksum"])
else:
    r.skip("xz", "not installed")
r.finish()
