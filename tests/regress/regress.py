# SPDX-License-Identifier: MIT
"""What the regress scripts share.

Each is called with the preload library, then the small programs it needs:
    l3.py LIBRARY PROGRAM...
Each prints what it checked, one line each, and ends with finish().
"""
import os
import shutil
import subprocess
import sys
import tempfile

LIBRARY = os.path.abspath(sys.argv[1])
PROGRAM = {os.path.splitext(os.path.basename(p))[0].removeprefix("regress-"):
           os.path.abspath(p) for p in sys.argv[2:]}
# Set by meson; it makes malloc touch every page.
os.environ.pop("MALLOC_PERTURB_", None)
os.environ.pop("LD_PRELOAD", None)
os.environ.pop("QUIRE_OPTIONS", None)

_failed = []
_passed = 0
_skipped = []
_temp = tempfile.TemporaryDirectory()
TEMP = _temp.name


def skip_all(why):
    print("skipped:", why)
    sys.exit(77)


def skip(what, why):
    print(f"skip  {what}: {why}", flush=True)
    _skipped.append(what)


def check(what, ok, detail=""):
    global _passed
    if ok:
        _passed += 1
        short = detail and "\n" not in detail and len(detail) < 120
        print(f"ok    {what}" + (f"  ({detail})" if short else ""), flush=True)
    else:
        _failed.append(what)
        print(f"FAIL  {what}  {detail}", flush=True)
    return ok


def environment(quire=True, options="", preload="", **more):
    """An environment with our library first, as `quire run` makes it."""
    env = dict(os.environ)
    parts = ([LIBRARY] if quire else []) + ([preload] if preload else [])
    if parts:
        env["LD_PRELOAD"] = ":".join(parts)
    if options:
        env["QUIRE_OPTIONS"] = options
    env.update({k: v for k, v in more.items() if v is not None})
    return env


def run(command, quire=True, options="", preload="", timeout=60, env=None,
        **more):
    """The finished process; a timeout reads as status "timeout"."""
    command = [PROGRAM.get(command[0], command[0]), *command[1:]]
    full = environment(quire, options, preload, **(env or {}))
    try:
        return subprocess.run(command, env=full, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout, **more)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(
            command, "timeout", late.stdout or b"", late.stderr or b"")


def tail(done, lines=6):
    text = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    return f"status {done.returncode}: " + " | ".join(text[-lines:])


def works(what, command, **more):
    """The program ends with 0; what it says is shown if it does not."""
    done = run(command, **more)
    check(what, done.returncode == 0, tail(done) if done.returncode else "")
    return done


def same(what, command, preload="", options="", **more):
    """Same output, error output and status with and without."""
    plain = run(command, quire=False, preload=preload, **more)
    ours = run(command, preload=preload, options=options, **more)
    ok = (plain.returncode == ours.returncode and
          plain.stdout == ours.stdout and plain.stderr == ours.stderr)
    detail = ""
    if not ok:
        a = plain.stdout.decode(errors="replace").splitlines()
        b = ours.stdout.decode(errors="replace").splitlines()
        detail = f"plain {tail(plain, 2)}; ours {tail(ours, 2)}"
        for x, y in zip(a, b):
            if x != y:
                detail += f"; first difference: plain {x!r} ours {y!r}"
                break
    check(what, ok, detail)
    return plain, ours


def find(*names):
    """The first of the programs that is there, or None."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    return None


def compile_c(name, text, *flags):
    """A program or library made on the spot; None without a compiler."""
    compiler = find("gcc", "cc", "clang")
    if not compiler:
        return None
    out = os.path.join(TEMP, name)
    source = out + ".c"
    with open(source, "w") as file:
        file.write(text)
    done = subprocess.run([compiler, "-O1", "-fno-builtin", "-w", source, "-o",
                           out, *flags], stderr=subprocess.PIPE)
    if done.returncode:
        print("note: cannot compile", name, done.stderr.decode()[-300:])
        return None
    return out


def finish():
    print(f"{_passed} ok, {len(_failed)} failed, {len(_skipped)} skipped")
    if _failed:
        sys.exit(1)
    if not _passed:
        sys.exit(77)
    sys.exit(0)
