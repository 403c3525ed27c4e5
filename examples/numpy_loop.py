#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""numpy_loop.py SIZE LIVE [TOTAL]: arithmetic on arrays of one size.

Each step makes LIVE arrays of SIZE bytes (suffixes K and M), each out of an
expression with temporaries, and then drops them all, as a function does with
its locals.  About TOTAL bytes are made in all, so that the time does not depend
on SIZE alone.
"""
import sys

import numpy


def size(text):
    factor = {"K": 1000, "M": 1000000}.get(text[-1:].upper(), 1)
    return int(float(text.rstrip("kKmM")) * factor)


def main(args):
    try:
        nbytes, live = size(args[0]), int(args[1])
        total = size(args[2]) if len(args) > 2 else 4000000000
        if nbytes < 8 or live < 1 or total < 0:
            raise ValueError
    except (IndexError, ValueError):
        sys.exit("usage: numpy_loop.py SIZE LIVE [TOTAL], e.g. 2M 8")
    source = numpy.ones(nbytes // 8)
    total_sum = 0.0
    for _ in range(max(2, total // (nbytes * live))):
        arrays = [source * 1.5 + source * 0.5 for _ in range(live)]
        total_sum += sum(float(array[0]) for array in arrays)
        del arrays
    print(total_sum)


main(sys.argv[1:])
