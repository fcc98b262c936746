"""ronderun: ranks on several hosts, with shells of the test in place of ssh."""

import contextlib
import os
import signal
import unittest

from ronderun_support import RonderunTest, processes_with, wait_until


class Hosts(RonderunTest):
    def setUp(self):
        super().setUp()
        # Three kinds of remote shell: one that executes the words, one that hands them to a shell as ssh does, and a noisy one.
        self.execute = self.script("execute", '#!/bin/sh\nFAKE_HOST=$1 export FAKE_HOST\nshift\nexec "$@"\n')
        self.hand_over = self.script("hand over", '#!/bin/sh\nFAKE_HOST=$1 export FAKE_HOST\nshift\nexec sh -c "$*"\n')
        self.noisy = self.script("noisy", '#!/bin/sh\necho Welcome; printf "no end"\nshift\nexec "$@"\n')

    def test_two_hosts(self):
        program = "echo $FAKE_HOST $RONDE_RANK/$RONDE_NRANKS $RONDE_LOCAL_RANK/$RONDE_LOCAL_NRANKS"
        for rsh in [self.execute, f"'{self.hand_over}'", self.noisy]:
            result = self.run_ronderun("-H", "a:2,b", "--rsh", rsh, "sh", "-c", program)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            words = [["a", "0/3", "0/2"], ["a", "1/3", "1/2"], ["b", "2/3", "0/1"]]
            if rsh == self.noisy:
                words = [line[1:] for line in words]
            self.assertEqual(sorted(line.split() for line in result.stdout.splitlines()), words)

    def test_with_this_host(self):
        result = self.run_ronderun(
            "-H", "localhost:2,b:2", "-n", "3", "--rsh", self.execute, "sh", "-c", "echo $RONDE_RANK ${FAKE_HOST:-here}"
        )
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 here", "1 here", "2 b"])

    def test_hostfile(self):
        file = self.script("hosts", "# hosts\na slots=1\n\nb:2 # two\n")
        result = self.run_ronderun("--hostfile", file, "--rsh", self.execute, "sh", "-c", "echo $FAKE_HOST $RONDE_RANK")
        self.assertEqual(sorted(result.stdout.splitlines()), ["a 0", "b 1", "b 2"])

    def test_secret_and_environment(self):
        """The id is the same on all hosts, and variables go along though the remote shell drops them."""
        clean = self.script("clean", '#!/bin/sh\nshift\nexec env -i PATH="$PATH" "$@"\n')
        program = 'eval "exec 9<&$RONDE_ID_FD"; id=$(cat <&9); echo "${#id} $id" "$RONDE_DEBUG" "$A"'
        result = self.run_ronderun("-H", "a,b", "--rsh", clean, "-x", "A='1", "bash", "-c", program,
                                   env={**os.environ, "RONDE_DEBUG": "warn"})  # fmt: skip
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertEqual(lines[0], lines[1])
        self.assertTrue(lines[0].endswith(" warn '1"), lines[0])

    def test_input(self):
        data = os.urandom(1 << 20)
        result = self.run_ronderun("-H", "a,b", "--rsh", self.execute, "sh", "-c", "[ $RONDE_RANK = 1 ] || exec cat",
                                   input=data, text=False)  # fmt: skip
        self.assertTrue(result.stdout == data)

    def test_failure_far_away(self):
        result = self.run_ronderun("-H", "a:2,b:2", "--rsh", self.execute, "sh", "-c",
                                   f"[ $RONDE_RANK = 3 ] && exit 6; {self.sleeper()}")  # fmt: skip
        self.assertEqual(result.returncode, 6)
        self.assertRegex(result.stderr, r"^ronderun: rank 3 \(pid \d+ on b\) ended with exit code 6\n$")

    def test_host_cannot_be_reached(self):
        broken = self.script("broken", '#!/bin/sh\n[ $1 = b ] && { echo "b: no route" >&2; exit 255; }\nshift\nexec "$@"\n')
        result = self.run_ronderun("-H", "a,b", "--rsh", broken, "sh", "-c", self.sleeper())
        self.assertEqual(result.returncode, 1)
        self.assertIn("b: no route\n", result.stderr)
        self.assertIn("could not reach b: the remote shell ended with exit code 255", result.stderr)
        result = self.run_ronderun("-H", "a,b", "--rsh", "no-such-shell", "true")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no-such-shell", result.stderr)

    def test_host_is_lost(self):
        job = self.start("-H", "a,b", "--rsh", self.execute, "sh", "-c", f"setsid {self.sleeper()} & {self.sleeper()}")
        self.assertTrue(wait_until(lambda: len(processes_with("sleep\x00100." + self.marker)) == 4))
        with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="utf-8") as file:
            os.kill(int(file.read().split()[1]), signal.SIGTERM)
        job.communicate(timeout=10)
        self.assertNotEqual(job.returncode, 0)
        self.assertTrue(wait_until(lambda: processes_with(self.marker) == []))

    def test_others_go_on_without_a_lost_host(self):
        for number, text in ((signal.SIGTERM, "rank 1 "), (signal.SIGKILL, "1 of its ranks lost")):
            program = f"[ $RONDE_RANK = 0 ] && {{ sleep 2; echo went on; exit; }}; {self.sleeper()}"
            job = self.start("-H", "a,b", "--keep-going", "--rsh", self.execute, "sh", "-c", program)
            self.assertTrue(wait_until(lambda: processes_with("sleep\x00100." + self.marker)))
            with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="utf-8") as file:
                os.kill(int(file.read().split()[1]), number)
            output, error = job.communicate(timeout=20)
            self.assertEqual((job.returncode, output), (0, "went on\n"), error)
            self.assertIn(text, error)
            for pid in processes_with(self.marker):  # of an agent that was killed
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: processes_with(self.marker) == []))

    def test_ronderun_is_killed(self):
        job = self.start("-H", "a,b", "--rsh", self.execute, "sh", "-c", f"setsid {self.sleeper()} & {self.sleeper()}")
        self.assertTrue(wait_until(lambda: len(processes_with("sleep\x00100." + self.marker)) == 4))
        job.kill()
        self.assertTrue(wait_until(lambda: processes_with(self.marker) == []))

    def test_interrupt(self):
        job = self.start("-H", "a,b", "--rsh", self.execute, "sh", "-c", self.sleeper())
        self.assertTrue(wait_until(lambda: len(processes_with("sleep\x00100." + self.marker)) == 2))
        os.killpg(job.pid, signal.SIGINT)  # as the terminal does
        job.communicate(timeout=10)
        self.assertEqual(job.returncode, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
