"""What the tests of ronderun from end to end share: the program that was built runs small shell commands.

usage of each: ronderun_..._test.py RONDERUN [TEST...]     (names of unittest: Class or Class.test)

Every process of a test carries a marker of its own in its command line, so that leftovers can be found. Only processes
that the test itself has started are signalled.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RONDERUN = os.path.abspath(sys.argv.pop(1))


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
