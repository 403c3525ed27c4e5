# SPDX-License-Identifier: MIT
"""
A redis server of our own with values of 3 MB: what is stored is read back, also
after a save by a forked child and a start from the saved file.  Debian's redis
brings its own malloc.
"""
import hashlib
import random
import re
import socket
import subprocess

from programs import Server, folder, free_port, need, r

server_path, bench = need("redis-server", "redis-benchmark")


class Client:
    """Enough of the protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.file = self.socket.makefile("rb")

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.answer()

    def answer(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else \
                self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"-":
            raise RuntimeError(rest)
        return int(rest) if kind == b":" else rest


def answers(port):
    try:
        return Client(port)("PING") == b"PONG"
    except (OSError, RuntimeError):
        return False


def start(data, options):
    port = free_port()
    server = Server([server_path, "--port", str(port), "--bind", "127.0.0.1",
                     "--dir", data, "--save", "", "--daemonize", "no",
                     "--io-threads", "2", "--appendonly", "no"],
                    options=options)
    return server, port, server.wait_until(lambda: answers(port))


def value(i):
    return random.Random(i).randbytes(3_000_000 + i * 1111)


def digest(b):
    return hashlib.sha1(b or b"").hexdigest()


def saved(client):
    return re.search(rb"rdb_bgsave_in_progress:0", client("INFO",
                                                         "persistence"))


def one(options):
    data = folder("redis" + re.sub(r"\W", "_", options))
    server, port, ready = start(data, options)
    try:
        if not r.check(f"redis starts, {options or 'usual options'}", ready,
                       server.said()[-300:]):
            return
        r.check("... with our library in it", server.maps_us())
        client = Client(port)
        print("      its malloc:", re.search(
            rb"mem_allocator:(\S+)", client("INFO", "memory"))[1].decode())
        for i in range(60):
            client("SET", f"key{i}", value(i))
        for i in range(0, 60, 3):
            client("APPEND", f"key{i}", b"end")
        for i in range(20, 40):
            client("DEL", f"key{i}")
        client("BGSAVE")
        for i in range(20, 40):  # while the child saves
            client("SET", f"key{i}", value(i + 1000))
        r.check("... saves in a child", server.wait_until(
            lambda: saved(client), 60) and
            b"rdb_last_bgsave_status:ok" in client("INFO", "persistence"))
        client("SAVE")
        good = all(digest(client("GET", f"key{i}")) == digest(expected(i))
                   for i in range(60))
        r.check("... gives back what was stored", good)
        done = subprocess.run(
            [bench, "-p", str(port), "-t", "set,get", "-d", "3000000", "-n",
             "600", "-c", "8", "-q"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=300)
        said = done.stdout.decode(errors="replace").replace("\r", "\n")
        rates = re.findall(r"(SET|GET): ([\d.]+) requests", said)
        r.check("... redis-benchmark with values of 3 MB",
                done.returncode == 0 and len(rates) >= 2, str(rates))
        client("FLUSHALL")
        status = server.stop()
        r.check("... stops when asked", status == 0, str(status))
    finally:
        server.stop()
    server, port, ready = start(data, options)
    try:
        client = Client(port) if ready else None
        r.check("... and has it after a new start", ready and all(
            digest(client("GET", f"key{i}")) == digest(expected(i))
            for i in range(60)))
        text = server.said()
        r.check("... said nothing bad", "crash" not in text.lower() and
                "quire:" not in text, text[-300:])
    finally:
        server.stop()


def expected(i):
    if 20 <= i < 40:
        return value(i + 1000)
    return value(i) + (b"end" if i % 3 == 0 else b"")


for options in ("", "thread_min=4M,decay=10ms", "decay=0"):
    one(options)
r.finish()
