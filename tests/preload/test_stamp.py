# SPDX-License-Identifier: MIT
"""libquire-stamp.so: every way of ending a process, and of having another."""
import os
import shutil
import signal
import time
import unittest

from quire_test import Case, main, PROGRAMS


class Ends(Case):
    def leave(self, how, code=7):
        done = self.run_under("leave", how)
        if done.returncode == 77:
            self.skipTest("not allowed here")
        self.assertEqual(done.returncode, code)
        return done.stdout

    def ends(self, how):
        before = time.monotonic_ns()
        output = self.leave(how)
        record = self.record()
        self.assertEqual(record["ended"], "1")
        self.assertLessEqual(before, int(record["start_ns"]))
        self.assertLess(int(record["start_ns"]), int(record["last_user_ns"]))
        self.assertLess(int(record["last_user_ns"]), time.monotonic_ns())
        self.assertEqual(record["exe"], os.path.realpath(PROGRAMS["leave"]))
        self.assertEqual(record["loaded"], "2")
        self.assertGreater(int(record["rss_peak"]), 100000)
        return output, record

    def test_return(self):
        _, record = self.ends("return")
        self.assertGreater(int(record["rss_end"]), 100000)
        self.assertEqual(record["threads_peak"], "1")
        self.assertEqual(record["parent"], str(os.getpid()))
        self.assertIn("libc", record["malloc_from"])

    def test_exit_c99(self):
        self.ends("_Exit")

    def test_exit_in_thread(self):
        _, record = self.ends("thread")
        self.assertEqual(record["threads_peak"], "2")

    def test_all_descriptors_closed(self):
        self.ends("closed")

    def test_other_root(self):
        self.ends("chroot")

    def test_quick_exit_after_its_handlers(self):
        output, _ = self.ends("quick")
        self.assertEqual(output, b"handler\n")

    def test_exit_in_signal_handler(self):
        self.ends("handler")

    def test_file_size_limit(self):
        """The child cannot have a record, and must not be killed for it."""
        self.ends("fsize")

    def test_killed(self):
        self.leave("kill", -signal.SIGKILL)
        self.assertEqual(self.record()["ended"], "0")

    def test_vfork_child_leaves_the_record_alone(self):
        self.leave("vfork", -signal.SIGKILL)
        self.assertEqual(self.record()["ended"], "0")

    def children(self, how):
        child = int(self.leave(how))
        records = self.records()
        self.assertEqual(len(records), 2)
        self.assertEqual(records[child]["ended"], "1")
        self.assertNotEqual(records[child]["parent"], "0")
        self.assertIn(int(records[child]["parent"]), records)
        for record in records.values():
            self.assertIn("libc", record["malloc_from"])

    def test_fork(self):
        self.children("fork")

    def test_fork_without_handlers(self):
        self.children("_Fork")

    def test_exec_describes_the_new_program(self):
        leave = PROGRAMS["leave"]
        done = self.run_under("/bin/sh", "-c", f"exec '{leave}' return")
        self.assertEqual(done.returncode, 7)
        record = self.record()
        self.assertEqual(record["exe"], os.path.realpath(leave))
        self.assertEqual(record["ended"], "1")

    def test_exec_of_a_killed_program(self):
        leave = PROGRAMS["leave"]
        self.run_under("/bin/sh", "-c", f"(exit 0); exec '{leave}' kill")
        mine = [r for r in self.records().values()
                if r["exe"] == os.path.realpath(leave)]
        self.assertEqual([r["ended"] for r in mine], ["0"])

    def test_a_stale_file_is_cleared(self):
        """All pids that could come next hold a foreign or a cut file."""
        done = self.run_under("/bin/sh", "-c", "exec 3>$D/$$; "
                              "echo nonsense >&3; exec $L return",
                              env={"D": self.dir, "L": PROGRAMS["leave"]})
        self.assertEqual(done.returncode, 7)
        self.assertEqual(self.record()["ended"], "1")

    def test_no_folder(self):
        done = self.run_under("leave", "return", options="stat_dir=/nowhere")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(self.records(), {})

    def test_many_processes(self):
        script = "i=0; while [ $i -lt 40 ]; do (exit 3) & i=$((i+1)); done; wait"
        self.run_under("/bin/sh", "-c", script)
        records = self.records().values()
        self.assertEqual(len(records), 41)
        self.assertEqual({r["ended"] for r in records}, {"1"})

    def test_python_subprocess(self):
        python = shutil.which("python3")
        self.run_under(python, "-c", "import subprocess, sys;"
                       "subprocess.run(['/bin/true']);"
                       "r = 0\n"
                       "try: subprocess.run(['/nonexistent'])\n"
                       "except FileNotFoundError: r = 5\n"
                       "sys.exit(r)")
        ends = sorted(os.path.basename(r["exe"])
                      for r in self.records().values() if r["ended"] == "1")
        self.assertIn("true", ends)
        self.assertTrue(any(e.startswith("python") for e in ends), ends)


class Cost(Case):
    def test_start_is_cheap(self):
        """A generous bound; the figure is printed."""
        def best(**more):
            times = []
            for _ in range(40):
                began = time.perf_counter()
                self.run_under("/bin/true", **more)
                times.append(time.perf_counter() - began)
            return min(times)
        without = best(env={"LD_PRELOAD": ""})
        cost = best() - without
        print(f"stamp costs {cost * 1e6:.0f} us a process", flush=True)
        self.assertLess(cost, 0.005)


main()
