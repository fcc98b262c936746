"""ronderun from end to end: the program that was built runs small shell commands.

usage: ronderun_cases.py RONDERUN [TEST...]     (names of unittest: Class or Class.test)

Every process of a test carries a marker of its own in its command line, so that leftovers can be found. Only processes
that the test itself has started are signalled.
"""

import contextlib
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RONDERUN = "ronderun"
HOST = os.uname().nodename


def processes_with(marker):
    """Numbers of the living processes whose command line contains the marker."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
    return found


def state_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    return "gone"


def wait_until(condition, seconds=4.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


def agent_of(job):
    """The process of ronderun that runs the ranks of this host."""
    with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


class RonderunTest(unittest.TestCase):
    def setUp(self):
        self.marker = f"7{os.getpid()}{time.monotonic_ns() % 10**9}"
        self.folder = tempfile.TemporaryDirectory()
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        left = processes_with(self.marker)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.folder.cleanup()
        self.assertEqual(left, [], "processes of the job are left")

    def sleeper(self):
        """A command that sleeps for long and can be found."""
        return f"sleep 100.{self.marker}"

    def run_ronderun(self, *arguments, text=True, timeout=20, **more):
        return subprocess.run([RONDERUN, *arguments], capture_output=True, text=text, timeout=timeout, check=False, **more)

    def start(self, *arguments, **more):
        """In a process group of its own, as a shell would start a job."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        options.update(more)
        process = subprocess.Popen([RONDERUN, *arguments], preexec_fn=os.setpgrp, **options)
        self.started.append(process)
        return process

    def script(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path


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


class Output(RonderunTest):
    def test_whole_lines(self):
        # awk writes blocks of 4 KiB that end within a line.
        program = (
            'awk -v r="$RONDE_RANK" \'BEGIN { for (i = 0; i < 3000; i++) { s = r " " i " "; '
            'for (k = 0; k < i % 23; k++) s = s "xyz"; print s "." } }\''
        )
        result = self.run_ronderun("-n", "16", "sh", "-c", program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        next_line = [0] * 16
        for line in result.stdout.splitlines():
            rank, number, rest = line.split(" ")
            self.assertEqual(int(number), next_line[int(rank)])
            self.assertEqual(rest, "xyz" * (int(number) % 23) + ".")
            next_line[int(rank)] += 1
        self.assertEqual(next_line, [3000] * 16)

    def test_prefix(self):
        result = self.run_ronderun("-n", "3", "--prefix", "sh", "-c", "echo a; printf 'b\\n\\nc'; echo e >&2")
        lines = result.stdout.split("\n")
        for rank in range(3):
            mine = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(mine, [f"[{rank}] a", f"[{rank}] b", f"[{rank}] ", f"[{rank}] c"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] e", "[1] e", "[2] e"])

    def test_last_line_without_end(self):
        self.assertEqual(self.run_ronderun("-n", "1", "printf", "abc").stdout, "abc")
        self.assertEqual(self.run_ronderun("-n", "3", "printf", "abc").stdout, "abc\nabc\nabc")

    def test_binary(self):
        data = os.urandom(8 << 20)
        result = self.run_ronderun("-n", "1", "cat", input=data, text=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(result.stdout == data)
        result = self.run_ronderun("-n", "2", "sh", "-c", "[ $RONDE_RANK = 1 ] || exec cat", input=data, text=False)
        self.assertTrue(result.stdout == data)

    def test_reader_ends(self):
        with subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as head:
            job = self.start("-n", "4", "sh", "-c", f"yes {self.marker}", stdout=head.stdin)
            head.stdin.close()
            self.assertEqual(head.stdout.read().decode(), self.marker + "\n")
            _, error = job.communicate(timeout=10)
        self.assertEqual((job.returncode, error), (-signal.SIGPIPE, ""))

    def test_reader_pauses(self):
        """Ranks wait for a slow reader, memory stays bounded, and the job can still be ended."""
        job = self.start("-n", "2", "yes", self.marker, stdin=subprocess.DEVNULL)
        time.sleep(0.7)
        with open(f"/proc/{job.pid}/status", encoding="utf-8") as file:
            memory_kb = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
        self.assertLess(memory_kb, 200_000)  # with room for a sanitizer
        job.send_signal(signal.SIGTERM)
        self.assertTrue(wait_until(lambda: job.poll() is not None))
        self.assertEqual(job.returncode, -signal.SIGTERM)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            job = self.start("-n", "2", "sh", "-c", f"echo hello; {self.sleeper()}", stdout=full)
            _, error = job.communicate(timeout=10)
        self.assertEqual(job.returncode, 1)
        self.assertIn("No space left on device", error)

    def test_terminal_shows_progress(self):
        master, slave = pty.openpty()
        job = self.start("-n", "2", "sh", "-c", f"[ $RONDE_RANK = 1 ] && printf 50%%; {self.sleeper()}", stdout=slave)
        os.close(slave)
        self.assertTrue(select.select([master], [], [], 4)[0])
        self.assertEqual(os.read(master, 100), b"50%")
        job.terminate()
        job.communicate(timeout=10)
        os.close(master)


class Input(RonderunTest):
    def test_rank_0_reads(self):
        result = self.run_ronderun("-n", "3", "--prefix", "sh", "-c", "cat; echo end", input="one\ntwo\n")
        self.assertEqual(
            sorted(result.stdout.splitlines()), ["[0] end", "[0] one", "[0] two", "[1] end", "[2] end"]
        )

    def test_terminal(self):
        master, slave = pty.openpty()
        job = self.start("-n", "2", "sh", "-c", "read line; echo $RONDE_RANK got $line", stdin=slave)
        os.write(master, b"hello\n")
        out, _ = job.communicate(timeout=10)
        os.close(master)
        os.close(slave)
        self.assertEqual(sorted(out.splitlines()), ["0 got hello", "1 got"])

    def test_standard_descriptors_closed(self):
        file = os.path.join(self.folder.name, "out")
        code = subprocess.run(
            ["sh", "-c", f'"$0" -n 2 sh -c "cat; echo x >{file}.\\$RONDE_RANK" <&- >&- 2>&-', RONDERUN], check=False
        ).returncode
        self.assertEqual(code, 0)
        self.assertTrue(os.path.exists(file + ".0") and os.path.exists(file + ".1"))


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
    RONDERUN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
