# SPDX-License-Identifier: MIT
"""A PostgreSQL server of our own: loaded, pgbench, big values, a restart."""
import glob
import os
import re
import shutil
import subprocess

from programs import Server, folder, library_for, other_user, r


def binaries():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found and r.find("postgres"):
        found = [r.find("postgres")]
    if not found:
        r.skip_all("not installed: postgresql")
    return os.path.dirname(found[-1])


class Postgres:
    """One cluster in a folder of its own, reached by a socket in it."""

    def __init__(self, name, quire, options="", buffers="128MB"):
        self.bin = binaries()
        self.user = other_user()
        self.quire, self.options = quire, options
        self.home = folder(name, self.user)
        self.data = os.path.join(self.home, "data")
        self.who = {} if not self.user else {
            "user": self.user.pw_uid, "group": self.user.pw_gid,
            "extra_groups": []}
        self.env = r.environment(False)
        self.env["HOME"] = self.home
        self.server = None
        self.buffers = buffers
        env = dict(self.env)
        if quire: # initdb runs the server too
            env["LD_PRELOAD"] = library_for(self.user)
        done = subprocess.run(
            [os.path.join(self.bin, "initdb"), "-D", self.data, "-U", "me",
             "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
            env=env, cwd=self.home, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, **self.who)
        self.made = done.returncode == 0
        self.said = done.stdout.decode(errors="replace")[-400:]

    def start(self):
        self.server = Server(
            [os.path.join(self.bin, "postgres"), "-D", self.data, "-k",
             self.home, "-h", "", "-c", "fsync=off", "-c",
             "shared_buffers=" + self.buffers, "-c", "work_mem=32MB",
             "-c", "max_connections=60"],
            user=self.user, quire=self.quire, options=self.options,
            stop=2)  # SIGINT: end now, in order
        return self.server.wait_until(
            lambda: self.sql("select 1").returncode == 0)

    def run(self, program, *words, timeout=300):
        path = os.path.join(self.bin, program)
        if not os.path.exists(path):
            path = shutil.which(program) or path
        return subprocess.run([path, *words], env=self.env, cwd=self.home,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, **self.who)

    def sql(self, text):
        return self.run("psql", "-h", self.home, "-U", "me", "-d", "postgres",
                        "-AtXq", "-c", text)

    def stop(self):
        return self.server.stop() if self.server else None


QUERIES = """
create table big(a int, b text);
insert into big select i, repeat(md5(i::text), 40000) from generate_series(1, 30) i;
select sum(length(b)), md5(string_agg(md5(b), ',' order by a)) from big;
create table many as select i, md5(i::text) m from generate_series(1, 300000) i;
create index on many(m);
select count(*), max(m) from (select m from many order by m desc) s;
select count(*) from many x join many y using (m);
select length(string_agg(m, '')) from many;
select md5(array_agg(m order by i)::text) from many;
""".strip().splitlines()


def answers(name, quire, options=""):
    """What the queries say, with all checks of a server's life."""
    server = Postgres(name, quire, options)
    said = []
    if not r.check(f"{name}: initdb", server.made, server.said):
        return said
    try:
        if not r.check(f"{name}: starts", server.start(),
                       server.server.said()[-300:]):
            return said
        if quire:
            r.check(f"{name}: with our library in it",
                    server.server.maps_us())
        for query in QUERIES:
            done = server.sql(query)
            said.append((done.returncode, done.stdout))
        where = ("-h", server.home, "-U", "me")
        server.run("pgbench", "-i", "-q", "-s", "2", *where, "postgres")
        done = server.run("pgbench", "-c", "6", "-j", "2", "-T", "6", *where,
                          "postgres")
        text = done.stdout.decode()
        rate = re.search(r"tps = ([\d.]+)", text)
        r.check(f"{name}: pgbench", done.returncode == 0 and rate and
                ("failed transactions: 0 " in text or
                 "failed" not in text), rate[0] if rate else r.tail(done))
        done = server.run("pgbench", "-S", "-M", "prepared", "-c", "6", "-j",
                          "2", "-T", "4", *where, "postgres")
        r.check(f"{name}: pgbench, reading", done.returncode == 0,
                r.tail(done, 2))
        status = server.stop()
        r.check(f"{name}: stops when asked", status == 0, str(status))
        r.check(f"{name}: starts again", server.start(),
                server.server.said()[-300:])
        said.append(server.sql("select count(*), sum(length(b)) from big")
                    .stdout)
        text = server.server.said()
        r.check(f"{name}: no process of it crashed",
                "terminated by signal" not in text and "quire:" not in text,
                text[-300:])
    finally:
        server.stop()
    return said


def main():
    plain = answers("plain", False)
    for name, options in (("quire", ""),
                          ("quire with helper", "thread_min=4M,decay=10ms")):
        r.check(f"{name}: the same answers",
                answers(name.replace(" ", "_"), True, options) == plain)
    r.finish()


if __name__ == "__main__":
    main()
