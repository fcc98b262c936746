"""ronderun: its command line, what a rank is given, limits of the machine."""

import os
import resource
import signal
import sys
import unittest

from ronderun_support import RonderunTest, agent_of, processes_with, wait_until


class CommandLine(RonderunTest):
    def test_nothing(self):
        result = self.run_ronderun()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("usage: ronderun", result.stderr)

    def test_help_and_version(self):
        self.assertIn("--prefix", self.run_ronderun("--help").stdout)
        self.assertRegex(self.run_ronderun("--version").stdout, r"^ronderun \d+\.\d+\.\d+\n$")

    def test_wrong(self):
        for arguments, words in [
            (["-n", "x", "true"], "'x'"),
            (["-n", "-1", "true"], "-1"),
            (["-n", "1e9", "true"], "1e9"),
            (["-n", "", "true"], "''"),
            (["-n", "2"], "program"),
            (["true"], "how many ranks"),
            (["--rank", "2", "true"], "--rank"),
            (["-n", "3", "-H", "a:2", "true"], "3 ranks do not fit the 2 slots"),
            (["-n", "2", "A=b", "true"], "-x A=b"),
            (["-n", "2", "-x", "RONDE_RANK=1", "true"], "ronderun sets this variable itself"),
        ]:
            result = self.run_ronderun(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(words, result.stderr)

    def test_program_cannot_run(self):
        result = self.run_ronderun("-n", "3", "no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stderr.count("no-such-program"), 1)
        self.assertEqual(self.run_ronderun("-n", "2", "./no-such-program").returncode, 127)
        result = self.run_ronderun("-n", "2", "/etc/passwd")
        self.assertEqual(result.returncode, 126)
        self.assertIn("Permission denied", result.stderr)

    def test_arguments_of_the_program(self):
        result = self.run_ronderun("-n", "1", "printf", "%s|", "-n", "--prefix", "", "a b", "*")
        self.assertEqual(result.stdout, "-n|--prefix||a b|*|")


class Place(RonderunTest):
    def test_ranks(self):
        result = self.run_ronderun(
            "-n", "3", "sh", "-c", "echo $RONDE_RANK/$RONDE_NRANKS $RONDE_LOCAL_RANK/$RONDE_LOCAL_NRANKS"
        )
        self.assertEqual(sorted(result.stdout.splitlines()), ["0/3 0/3", "1/3 1/3", "2/3 2/3"])

    def test_the_id_is_secret(self):
        program = self.script(
            "look.py",
            "import fcntl, os, sys\n"
            "fd = int(os.environ['RONDE_ID_FD'])\n"
            "text = os.read(fd, 4096).decode()\n"
            "hidden = text not in open('/proc/self/environ').read() + open('/proc/self/cmdline').read()\n"
            "print(text, hidden, fcntl.fcntl(fd, 1034))\n",  # F_GET_SEALS
        )
        lines = self.run_ronderun("-n", "2", sys.executable, program).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], lines[1])
        text, hidden, seals = lines[0].split()
        self.assertTrue(text.startswith("ronde1:"), text)
        self.assertEqual((hidden, seals), ("True", "15"))

    def test_environment(self):
        result = self.run_ronderun(
            "-n", "1", "--env", "A=1 2", "-x", "B", "sh", "-c", 'echo "$A,$B,$RONDE_RANK"',
            env={**os.environ, "B": "3", "RONDE_RANK": "9"},
        )  # fmt: skip
        self.assertEqual(result.stdout, "1 2,3,0\n")

    def test_wdir(self):
        result = self.run_ronderun("-n", "1", "--wdir", self.folder.name, "pwd")
        self.assertEqual(result.stdout.strip(), os.path.realpath(self.folder.name))
        result = self.run_ronderun("-n", "1", "--wdir", "/no/such/folder", "pwd")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder", result.stderr)


class Limits(RonderunTest):
    @staticmethod
    def limit(soft, hard):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_128_ranks(self):
        result = self.run_ronderun("-n", "128", "sh", "-c", "echo $RONDE_RANK", preexec_fn=self.limit(1024, 1024))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(map(int, result.stdout.split())), list(range(128)))

    def test_soft_limit_is_raised_and_given_back(self):
        result = self.run_ronderun("-n", "40", "sh", "-c", "ulimit -Sn", preexec_fn=self.limit(64, 1024))
        self.assertEqual((result.returncode, result.stdout), (0, "64\n" * 40))

    def test_hard_limit(self):
        result = self.run_ronderun("-n", "40", "true", preexec_fn=self.limit(64, 64))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"limit is 64; raise it with 'ulimit -n \d+'")

    def test_too_few_open_files(self):
        for files in range(4, 24):
            with self.subTest(files=files):
                result = self.run_ronderun("-n", "2", "true", preexec_fn=self.limit(files, files))
                self.assertNotEqual(result.returncode, 0)
                self.assertTrue(result.stderr)

    def test_a_stopped_agent_does_not_stop_the_end(self):
        job = self.start("-n", "2", "--timeout", "1", "sh", "-c", self.sleeper())
        self.assertTrue(wait_until(lambda: len(processes_with(self.marker)) >= 2))
        os.kill(agent_of(job), signal.SIGSTOP)
        self.assertEqual(job.wait(timeout=10), 124)


if __name__ == "__main__":
    unittest.main()
