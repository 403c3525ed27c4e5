# SPDX-License-Identifier: MIT
"""What the scripts of real programs share: regress.py, and servers."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "regress"))
import regress as r  # noqa: E402


def need(*names):
    """Paths of the programs; ends the test as skipped when one is missing."""
    paths = [r.find(name) for name in names]
    missing = [name for name, path in zip(names, paths) if not path]
    if missing:
        r.skip_all("not installed: " + " ".join(missing))
    return paths if len(paths) > 1 else paths[0]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def folder(name, user=None):
    """A new folder in the test's own, which may belong to another user."""
    path = os.path.join(r.TEMP, name)
    os.mkdir(path, 0o700)
    if user:
        os.chmod(r.TEMP, 0o711)
        os.chown(path, user.pw_uid, user.pw_gid)
    return path


def other_user():
    """Who runs what refuses to be run by root; None: we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    r.skip_all("no user to run a server as")


def library_for(user):
    """Our library where any user can read it."""
    path = os.path.join(r.TEMP, "libquire-preload.so")
    if not os.path.exists(path):
        shutil.copy(r.LIBRARY, path)
        os.chmod(path, 0o755)
    return path if user else r.LIBRARY


class Server:
    """A process in the background, stopped by its id."""

    def __init__(self, command, user=None, quire=True, options="", stop=None,
                 **env):
        full = r.environment(False, options if quire else "", **env)
        if quire:
            full["LD_PRELOAD"] = library_for(user)
        who = {}
        if user:
            who = {"user": user.pw_uid, "group": user.pw_gid,
                   "extra_groups": []}
            full["HOME"] = r.TEMP
        self.log = open(os.path.join(r.TEMP, f"log{time.monotonic_ns()}"),
                        "wb+")
        self.stop_signal = stop or signal.SIGTERM
        self.process = subprocess.Popen(command, env=full, cwd=r.TEMP,
                                        stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log,
                                        **who)

    def wait_until(self, ready, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if ready():
                return True
            time.sleep(0.1)
        return False

    def maps_us(self):
        """Is our library really in it?"""
        try:
            with open(f"/proc/{self.process.pid}/maps") as file:
                return "libquire-preload" in file.read()
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                return "killed"
        return self.process.returncode

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")
