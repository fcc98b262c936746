"""ronderun: ranks that fail, processes that outlive them, signals."""

import os
import signal
import subprocess
import time
import unittest

from ronderun_support import RONDERUN, RonderunTest, agent_of, processes_with, state_of, wait_until

HOST = os.uname().nodename


class Failure(RonderunTest):
    def test_exit_code(self):
        result = self.run_ronderun("-n", "4", "sh", "-c", f"[ $RONDE_RANK = 2 ] && exit 3; {self.sleeper()}")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, rf"^ronderun: rank 2 \(pid \d+ on {HOST}\) ended with exit code 3\n$")

    def test_signal(self):
        result = self.run_ronderun("-n", "4", "sh", "-c", f"[ $RONDE_RANK = 1 ] && kill -9 $$; {self.sleeper()}")
        self.assertEqual(result.returncode, 137)
        self.assertRegex(
            result.stderr, rf"^ronderun: rank 1 \(pid \d+ on {HOST}\) was killed by signal 9 \(Killed\)\n$"
        )

    def test_consequences_are_not_blamed(self):
        program = f"case $RONDE_RANK in 0) sleep 0.05; exit 1;; 1) exit 7;; *) {self.sleeper()};; esac"
        result = self.run_ronderun("-n", "3", "sh", "-c", program)
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("rank 1 ", result.stderr)

    def test_a_death_by_signal_is_the_cause(self):
        program = f"case $RONDE_RANK in 0) exit 1;; 1) sleep 0.05; kill -SEGV $$;; *) {self.sleeper()};; esac"
        result = self.run_ronderun("-n", "3", "sh", "-c", program)
        self.assertEqual(result.returncode, 139)
        self.assertIn("rank 1 ", result.stderr)
        self.assertIn("signal 11", result.stderr)

    def test_keep_going(self):
        for failure, code in (("kill -9 $$", 0), ("exit 3", 3)):
            program = f"[ $RONDE_RANK = 1 ] && {failure}; sleep 0.5; echo went on"
            result = self.run_ronderun("-n", "3", "--keep-going", "sh", "-c", program)
            self.assertEqual((result.returncode, result.stdout), (code, "went on\n" * 2))
            self.assertRegex(result.stderr, r"^ronderun: rank 1 \(pid \d+ on .*\) (was killed by|ended with) .*\n$")
        program = "[ $RONDE_RANK = 1 ] && exit 3; [ $RONDE_RANK = 0 ] && sleep 2; kill -9 $$"
        result = self.run_ronderun("-n", "2", "--keep-going", "sh", "-c", program)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 2))  # nobody has ended with 0

    def test_grace(self):
        """Who ignores SIGTERM is killed after the grace time."""
        program = f"[ $RONDE_RANK = 0 ] && exit 5; trap '' TERM; while :; do {self.sleeper()}; done"
        begin = time.monotonic()
        result = self.run_ronderun("-n", "2", "--grace", "0.5", "sh", "-c", program)
        self.assertEqual(result.returncode, 5)
        self.assertTrue(0.5 <= time.monotonic() - begin < 3)

    def test_stopped_rank_is_ended(self):
        program = f"[ $RONDE_RANK = 0 ] && {{ sleep 0.2; exit 5; }}; kill -STOP $$; {self.sleeper()}"
        begin = time.monotonic()
        self.assertEqual(self.run_ronderun("-n", "2", "sh", "-c", program).returncode, 5)
        self.assertLess(time.monotonic() - begin, 3)

    def test_timeout(self):
        begin = time.monotonic()
        result = self.run_ronderun("-n", "2", "--timeout", "0.5", "sh", "-c", self.sleeper())
        self.assertEqual(result.returncode, 124)
        self.assertIn("--timeout", result.stderr)
        self.assertLess(time.monotonic() - begin, 3)


class Survivors(RonderunTest):
    """No rank and no child of a rank outlives the job; tearDown looks for them."""

    def start_family(self, *options):
        """Two ranks, each with a child and a grandchild in a session of its own."""
        job = self.start(*options, "-n", "2", "sh", "-c", f"{self.sleeper()} & setsid sh -c '{self.sleeper()} & :'; wait")
        self.assertTrue(wait_until(lambda: len(self.sleeping()) == 4))
        return job

    def sleeping(self):
        return processes_with("sleep\x00100." + self.marker)

    def test_orphans_at_the_normal_end(self):
        result = self.run_ronderun("-n", "2", "sh", "-c", f"setsid {self.sleeper()} & echo done")
        self.assertEqual((result.returncode, result.stdout), (0, "done\ndone\n"))
        self.assertEqual(self.sleeping(), [])

    def test_orphans_that_ignore_sigterm(self):
        program = f"setsid sh -c 'trap \"\" TERM; while :; do {self.sleeper()}; done' & sleep 0.1"
        self.assertEqual(self.run_ronderun("-n", "1", "--grace", "0.3", "sh", "-c", program).returncode, 0)
        self.assertEqual(self.sleeping(), [])

    def test_ronderun_is_killed(self):
        job = self.start_family()
        job.kill()
        self.assertTrue(wait_until(lambda: processes_with(self.marker) == []))

    def test_agent_is_killed(self):
        job = self.start_family()
        os.kill(agent_of(job), signal.SIGKILL)
        _, error = job.communicate(timeout=10)
        self.assertEqual(job.returncode, 1)
        self.assertIn("signal 9", error)
        self.assertEqual(self.sleeping(), [])

    def test_all_ranks_are_killed_again_and_again(self):
        for _ in range(10):
            result = self.run_ronderun("-n", "8", "sh", "-c", "kill -9 $$")
            self.assertEqual(result.returncode, 137)


class Signals(RonderunTest):
    def running_job(self, program, *options, nranks=2, **more):
        """Returns when each rank has said so by a file."""
        ready = os.path.join(self.folder.name, f"ready{len(self.started)}")
        job = self.start("-n", str(nranks), *options, "sh", "-c", program.replace("READY", f">{ready}.$RONDE_RANK"), **more)
        self.assertTrue(wait_until(lambda: all(os.path.exists(f"{ready}.{rank}") for rank in range(nranks))))
        return job

    def test_ends_by_the_signal(self):
        for number, name in [(signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP")]:
            job = self.running_job(f"trap 'echo {name}; exit 0' {name}; READY; {self.sleeper()} & wait")
            job.send_signal(number)
            out, error = job.communicate(timeout=10)
            self.assertEqual((job.returncode, out), (-number, f"{name}\n{name}\n"))
            self.assertRegex(error, r"^ronderun: .*: ending 2 ranks; .*--grace\)\n$")

    def test_second_interrupt_kills(self):
        job = self.running_job(f"trap '' INT TERM; READY; while :; do {self.sleeper()}; done", "--grace", "60")
        job.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=5)
        self.assertEqual(job.returncode, -signal.SIGINT)

    def test_ignored_stays_ignored(self):
        """As nohup and a script's background job set it."""
        ignore = "trap '' HUP; exec \"$0\" \"$@\""
        job = subprocess.Popen(["sh", "-c", ignore, RONDERUN, "-n", "1", "sh", "-c", f"kill -HUP $$ $PPID; echo {self.marker}"],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.started.append(job)
        time.sleep(0.2)
        job.send_signal(signal.SIGHUP)
        self.assertEqual(job.communicate(timeout=10)[0], self.marker + "\n")
        self.assertEqual(job.returncode, 0)

    def test_suspend_and_continue(self):
        job = self.running_job(f"READY; exec {self.sleeper()}")
        ranks = processes_with("sleep\x00100." + self.marker)
        self.assertEqual(len(ranks), 2)
        job.send_signal(signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: all(state_of(pid) == "T" for pid in [job.pid, *ranks])))
        job.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: all(state_of(pid) == "S" for pid in [job.pid, *ranks])))
        job.terminate()
        job.communicate(timeout=10)
        self.assertEqual(job.returncode, -signal.SIGTERM)

    def test_user_signals_go_on(self):
        job = self.running_job(f"trap 'echo one; exit 0' USR1; READY; {self.sleeper()} & wait")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.communicate(timeout=10)[0], "one\none\n")
        self.assertEqual(job.returncode, 0)

    def test_waiting_costs_nothing(self):
        job = self.running_job(f"READY; exec {self.sleeper()}")
        time.sleep(1)
        with open(f"/proc/{job.pid}/stat", encoding="utf-8") as file:
            ticks = sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])
        self.assertLess(ticks / os.sysconf("SC_CLK_TCK"), 0.5)
        job.terminate()
        job.communicate(timeout=10)


if __name__ == "__main__":
    unittest.main()
