# SPDX-License-Identifier: MIT
"""How many instructions the fast paths take, against what was agreed.

    golden.py PROGRAM COMPILER LIST [--update]

COMPILER is "gcc-12" or the like; LIST has lines "COMPILER FUNCTION NUMBER".
A number that is not the agreed one fails the test, also a smaller one: then
--update writes it down, and the change is seen in review.  A compiler that the
list does not know, a missing valgrind: skipped.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FUNCTIONS = ("slot_pop_call", "slot_push_call", "quire_page_alloc",
             "quire_block_alloc", "quire_block_free", "quire_group_charge",
             "quire_group_uncharge", "quire_group_page_touch")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def profile(program):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        # Valgrind stumbles over what some compilers say for debuggers.
        bare = os.path.join(folder, "bare")
        subprocess.run(["strip", "--strip-debug", "-o", bare, program],
                       check=True)
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=measured",
             "--compress-strings=no", "--compress-pos=no",
             f"--callgrind-out-file={out}", bare],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            print(run.stdout)
            sys.exit(1)
        with open(out, encoding="utf-8") as file:
            return file.read().split("\n")


def count(lines):
    """Instructions of each function itself, and how often it was called."""
    own, calls = {}, {}
    function = callee = None
    skip_cost = False
    for line in lines:
        if line.startswith("fn="):
            function = line[3:].split("'")[0]
        elif line.startswith("cfn="):
            callee = line[4:].split("'")[0]
        elif line.startswith("calls="):
            calls[callee] = calls.get(callee, 0) + int(line[6:].split()[0])
            skip_cost = True
        elif re.match(r"[+*\d-]", line):
            if not skip_cost and function:
                own[function] = own.get(function, 0) + int(line.split()[1])
            skip_cost = False
    return own, calls


def agreed(path, compiler):
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words and words[0] == compiler:
                found[words[1]] = float(words[2])
    return found


def update(path, compiler, found):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file
                 if not line.startswith(compiler + " ")]
    lines += [f"{compiler} {name} {number:g}\n"
              for name, number in found.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def main(program, compiler, path, *options):
    if not shutil.which("valgrind"):
        skip("no valgrind")
    wanted = agreed(path, compiler)
    if not wanted and options != ("--update",):
        skip(f"{compiler} is not in {os.path.basename(path)}")
    own, calls = count(profile(program))
    found = {name: own[name] / calls[name] for name in FUNCTIONS}
    if options == ("--update",):
        return update(path, compiler, found)
    failed = 0
    for name, number in found.items():
        good = number == wanted.get(name)
        failed += not good
        print(f"{'ok   ' if good else 'WRONG'} {name}: {number:g} "
              f"instructions, agreed are {wanted.get(name)}")
    return failed > 0


sys.exit(main(*sys.argv[1:]))
