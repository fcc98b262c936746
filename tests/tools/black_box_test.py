"""What people see of black boxes: ronde-status beside a job, and what ronderun says when a rank dies or the time is over.

usage: black_box_test.py RONDERUN RONDE_STATUS ALLREDUCE_PERF SURVIVOR
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RONDE_STATUS, ALLREDUCE_PERF, SURVIVOR = (os.path.abspath(sys.argv.pop(2)) for _ in range(3))

from ronderun_support import RonderunTest, processes_with, wait_until  # noqa: E402 (takes its argument)


class BlackBox(RonderunTest):
    def perf(self, size):
        """A job without end. Its -w (rounds of warming up) marks it."""
        return [ALLREDUCE_PERF, "-b", size, "-e", size, "-n", "5", "-N", "0", "-w", str(int(self.marker) % 1000), "-J",
                f"/tmp/never-written-{self.marker}"]  # fmt: skip

    def status(self, *arguments):
        result = subprocess.run([RONDE_STATUS, *arguments], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stderr.splitlines():  # jobs of another build may run on this machine
            self.assertRegex(line, r"^ronde-status: held by process \d+: a black box of version \d+; this program reads version \d+$")
        return result.stdout

    def communicator(self, pids):
        """As ronde-status sees the one of these processes; None until all of them are in it."""
        for communicator in json.loads(self.status("--json"))["communicators"]:
            if {rank["pid"] for rank in communicator["ranks"]} == set(pids):
                return communicator
        return None

    def ranks(self, job, number=3):
        """The processes of a job that runs, by rank."""
        pids = {}

        def found():
            for pid in processes_with(self.marker):
                if pid == job.pid:
                    continue
                try:
                    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
                        place = [word for word in file.read().split("\0") if word.startswith("RONDE_RANK=")]
                except OSError:
                    continue
                if place:
                    pids[int(place[0].split("=")[1])] = pid
            return len(pids) == number

        self.assertTrue(wait_until(found, 30), pids)
        ranks = [pids[rank] for rank in range(number)]

        def runs():
            communicator = self.communicator(ranks)
            return communicator and all(rank["operations"] for rank in communicator["ranks"])

        self.assertTrue(wait_until(runs, 30))
        return ranks

    def test_a_stopped_rank_is_named(self):
        for transport in ("shm", "tcp"):
            job = self.start("-n", "3", "-x", f"RONDE_TRANSPORT={transport}", *self.perf("4M"))
            ranks = self.ranks(job)
            os.kill(ranks[1], signal.SIGSTOP)

            def states():
                return [rank["state"] for rank in self.communicator(ranks)["ranks"]]

            self.assertTrue(wait_until(lambda: states() == ["waits", "stopped", "waits"], 20), states())
            communicator = self.communicator(ranks)
            # Usually both others in one finding; two findings if one was a call ahead; one rank if the other waits for it.
            self.assertTrue(communicator["findings"])
            for finding in communicator["findings"]:
                self.assertRegex(finding, r"^(ranks 0 and 2 wait|rank [02] waits) in AllReduce .* whose process is stopped$")
                self.assertIn(finding, self.status())
            os.kill(ranks[1], signal.SIGCONT)
            self.assertTrue(wait_until(lambda: not self.communicator(ranks)["findings"], 20))
            job.terminate()
            job.communicate(timeout=10)

    def finding(self, text):
        """Waits until one of the findings of a communicator of this job contains the text."""

        def all_findings():
            pids = processes_with(self.marker)
            communicators = json.loads(self.status("--json"))["communicators"]
            own = [one for one in communicators if any(rank["pid"] in pids for rank in one["ranks"])]
            return [finding for one in own for finding in one["findings"]]

        self.assertTrue(wait_until(lambda: any(text in finding for finding in all_findings()), 20), all_findings())

    def test_who_has_not_come_to_the_start_is_named(self):
        job = self.start("-n", "3", "sh", "-c", f'[ $RONDE_RANK != 1 ] || exec {self.sleeper()}; exec "$@"', "sh",
                         *self.perf("4K"))  # fmt: skip
        self.finding("ranks 0 and 2 wait in start-up for rank 1, perhaps, which is not seen")
        self.assertRegex(self.status(), r"starts +in start-up for \d+\.\d s, waits for the meeting point or for other ranks\n")
        job.terminate()
        job.communicate(timeout=10)

    def test_who_does_not_take_part_in_a_shrink_is_named(self):
        job = self.start("--keep-going", "--timeout", "60", "-n", "4", SURVIVOR, "0", f"0.{self.marker}", "1")
        pids = self.ranks(job, 4)
        os.kill(pids[2], signal.SIGSTOP)
        os.kill(pids[3], signal.SIGKILL)
        self.finding("ranks 0 and 1 wait in rondeCommShrink for rank 2, whose process is stopped")
        self.assertIn(f"rank 3 (pid {pids[3]}", self.status())
        os.kill(pids[2], signal.SIGCONT)
        output, _ = job.communicate(timeout=30)
        self.assertEqual(output.count("shrunk"), 3)

    def test_a_killed_rank_leaves_its_last_operation(self):
        job = self.start("-n", "3", *self.perf("4M"))
        os.kill(self.ranks(job)[2], signal.SIGKILL)
        _, error = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 137)
        self.assertRegex(error, r"ronderun: rank 2 \(pid \d+ on .*\) was killed by signal 9 \(Killed\)\n"
                                r"ronderun: rank 2 \(pid \d+\), rank 2 of 3 in communicator [0-9a-f]{16}: (in|between operations; the last one,) AllReduce \(")  # fmt: skip

    def test_a_neighbour_keeps_the_box_of_a_killed_rank(self):
        def variables(rank):
            kept = {k: v for k, v in os.environ.items() if not k.startswith(("RONDE_", "OMPI_", "PMI", "SLURM_"))}
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 3, "LOCAL_WORLD_SIZE": 3, "MASTER_PORT": os.getpid()}
            return {**kept, "MASTER_ADDR": "127.0.0.1", **{name: str(value) for name, value in place.items()}}

        job = [subprocess.Popen(self.perf("4M"), env=variables(rank), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for rank in range(3)]  # fmt: skip
        try:
            pids = [rank.pid for rank in job]

            def runs():
                communicator = self.communicator(pids)
                return communicator and all(rank["operations"] for rank in communicator["ranks"])

            self.assertTrue(wait_until(runs, 30))
            for survivor in (0, 1):  # which would end soon
                os.kill(pids[survivor], signal.SIGSTOP)
            job[2].kill()
            job[2].wait(timeout=10)
            communicators = json.loads(self.status("--json"))["communicators"]
            (communicator,) = [one for one in communicators if one["ranks"][0]["pid"] == pids[0]]
            self.assertEqual([rank["state"] for rank in communicator["ranks"]], ["stopped", "stopped", "ended"])
            self.assertTrue(communicator["ranks"][2]["operations"])
        finally:
            for rank in job:
                rank.kill()
                rank.wait(timeout=10)

    def test_time_over(self):
        job = self.start("--timeout", "6", "-n", "3", *self.perf("64K"))
        os.kill(self.ranks(job)[0], signal.SIGSTOP)
        _, error = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 124)
        self.assertIn("has not ended within 6 s", error)
        for rank in (1, 2):
            self.assertRegex(error, rf"ronderun: rank {rank} \(pid \d+\), rank {rank} of 3 in communicator \w+: in AllReduce .* waits for rank \d\n")

    def test_a_program_without_the_library_has_none(self):
        result = self.run_ronderun("-n", "2", "sh", "-c", "exit 3")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_files_stay_when_all_is_killed(self):
        for launched in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                job = self.start("-n", "3", "-x", f"RONDE_TRACE_DIR={folder}", *self.perf("4M"))
                ranks = self.ranks(job)
                if launched:
                    job.kill()  # its ranks end with it
                for pid in ranks:
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                job.communicate(timeout=20)
                files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
                self.assertEqual(len(files), 3)
                self.assertEqual({os.stat(file).st_mode & 0o777 for file in files}, {0o600})
                (communicator,) = json.loads(self.status("--json", "-n", "3", *files))["communicators"]
                (again,) = json.loads(self.status("--json", "-n", "3", folder, files[0]))["communicators"]
                self.assertEqual(again, communicator)
                self.assertEqual([rank["rank"] for rank in communicator["ranks"]], [0, 1, 2])
                for rank in communicator["ranks"]:
                    self.assertEqual(rank["state"], "ended")
                    self.assertIn(len(rank["operations"]), (1, 2, 3))
                    self.assertLess(rank["operations"][0]["begun_s_ago"], 5)
                self.assertRegex(self.status(*files), r"ended +(in|between operations; the last one,) AllReduce")

    def test_files_that_are_none(self):
        for file, reason in (("/no/such/file", "No such file"), ("/etc/passwd", "no black box"),
                             ("/dev/null", "neither a file nor a folder"),
                             (self.folder.name, "no file ronde-black-box.* in this folder")):  # fmt: skip
            result = subprocess.run([RONDE_STATUS, file], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(f"{file}: ", result.stderr)
            self.assertIn(reason, result.stderr)
        result = self.run_ronderun("-n", "1", "-x", "RONDE_TRACE_DIR=/no/such/folder", *self.perf("4K"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("RONDE_TRACE_DIR='/no/such/folder' cannot be used", result.stderr)
        result = subprocess.run(self.perf("4K"), env={**os.environ, "RONDE_TRACE_DIR": "/no/such/folder"}, timeout=20,
                                capture_output=True, text=True, check=False)  # fmt: skip
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("RONDE_TRACE_DIR='/no/such/folder' cannot be used", result.stderr)

    def test_command_line(self):
        self.assertIn("--json", self.status("--help"))
        self.assertRegex(self.status("--version"), r"^ronde-status \d+\.\d+\.\d+\n$")
        for wrong in (["-n", "0"], ["-n", "257"], ["-n", "x"], ["--no"]):
            result = subprocess.run([RONDE_STATUS, *wrong], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual((result.returncode, result.stdout), (2, ""), wrong)
            self.assertRegex(result.stderr, r"^ronde-status: .*\nTry 'ronde-status --help'\.\n$")
            self.assertTrue(result.stderr)


if __name__ == "__main__":
    unittest.main()
