#!/usr/bin/env python3
"""Kills one rank at a random moment, again and again: no hang, no wrong data, nothing left behind.

    kill_loop.py ALLREDUCE_PERF RONDERUN [NUMBER [SEED]]

Goes round over shm and tcp, with ronderun and without it. Each job reduces for ever until its rank is killed, in
start-up or later. Then every process of the job must end within 10 s, with an exit code other than 0; where the job was
past its first row, the error must name the rank that was killed. Only processes of the jobs are killed.
"""
import collections
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import jobs

NRANKS = 4
LIMIT_S = 10
ARGUMENTS = "-b 1K -e 4M -f 16 -n 3 -w 1 -N 0".split()
WAYS = list(itertools.product(("shm", "tcp"), ("ronderun", "own")))

Kill = collections.namedtuple("Kill", "transport launcher rank after_s in_start_up seconds")


class Job:
    """One job in a folder of its own."""

    def __init__(self, programs, transport, launcher, folder, mark):
        self.launcher = launcher
        self.mark = mark
        self.folder = folder
        self.files = []
        perf, ronderun = programs
        settings = {"RONDE_TRANSPORT": transport, "RONDE_INIT_TIMEOUT": "5", jobs.MARK: mark}
        if launcher == "own":
            self.processes = jobs.start_ranks([perf] + ARGUMENTS, NRANKS, settings, self.output)
        else:
            out, err = self.output(0)
            self.processes = [subprocess.Popen([ronderun, "-n", str(NRANKS), perf] + ARGUMENTS, stdout=out, stderr=err,
                                               stdin=subprocess.DEVNULL, env=jobs.environment(**settings))]

    def output(self, rank):
        files = [open(os.path.join(self.folder, f"{rank}.{name}"), "wb") for name in ("out", "err")]
        self.files += files
        return files

    def pid_of(self, rank):
        """None while the rank has not been started."""
        if self.launcher == "own":
            return self.processes[rank].pid
        for pid, text in jobs.marked(self.mark, "RONDE_RANK").items():
            if text == f"RONDE_RANK={rank}":
                return pid
        return None

    def text(self, name):
        parts = []
        for file in sorted(os.listdir(self.folder)):
            if file.endswith(name):
                with open(os.path.join(self.folder, file), encoding="utf-8", errors="replace") as stream:
                    parts.append(stream.read())
        return "".join(parts)

    def rows(self):
        return [line.split() for line in self.text(".out").splitlines() if line.strip() and line[0] != "#"]

    def close(self):
        jobs.kill_marked(self.mark)
        jobs.kill_all(self.processes)
        for file in self.files:
            file.close()


def check_output(job, rank, in_start_up):
    for row in job.rows():
        if len(row) >= 13:  # the last row may be cut
            assert (row[8], row[12]) == ("0", "0"), f"wrong data: {row}"
    errors = job.text(".err")
    assert in_start_up or f"rank {rank}" in errors, f"rank {rank} is not named:\n{errors}"


def kill_one(programs, transport, launcher, number, chance):
    mark = f"{os.getpid()}-{number}"
    rank = chance.randrange(NRANKS)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(programs, transport, launcher, folder, mark)
        begin = time.monotonic()
        try:
            # One in five falls into start-up, which takes some ten milliseconds.
            after = chance.uniform(0, 0.08) if chance.random() < 0.2 else chance.uniform(0.1, 1.0)
            time.sleep(after)
            while (pid := job.pid_of(rank)) is None and time.monotonic() - begin < LIMIT_S:
                time.sleep(0.001)
            codes = [process.poll() for process in job.processes]
            assert pid is not None, f"{transport}, {launcher}: rank {rank} did not start; exit codes so far {codes}"
            in_start_up = not job.rows()
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            late = jobs.wait_all(job.processes, LIMIT_S)
            seconds = time.monotonic() - killed
            assert not late, f"{transport}, {launcher}: processes {late} hang after the death of rank {rank}"
            codes = [process.returncode for process in job.processes]
            assert 0 not in codes, f"{transport}, {launcher}: exit codes {codes} after the death of rank {rank}"
            left = jobs.wait_until_gone(mark)
            assert not left, f"{transport}, {launcher}: left behind: {left}"
            check_output(job, rank, in_start_up)
            return Kill(transport, launcher, rank, after, in_start_up, seconds)
        except AssertionError:
            print(f"kill {number}: {transport}, {launcher}, rank {rank} after {after:.3f} s\n{job.text('.err')}")
            raise
        finally:
            job.close()


def main():
    programs = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)
    print(f"kill_loop: {number} kills, seed {seed}", flush=True)
    chance = random.Random(seed)
    files_before = jobs.shared_memory_files()
    kills = [kill_one(programs, *WAYS[i % len(WAYS)], i, chance) for i in range(number)]
    for transport, launcher in WAYS:
        some = [kill for kill in kills if (kill.transport, kill.launcher) == (transport, launcher)]
        seconds = sorted(kill.seconds for kill in some)
        print(f"{transport}, {launcher}: {len(some)} kills, {sum(kill.in_start_up for kill in some)} before the first "
              f"row; all ended after {seconds[len(seconds) // 2]:.3f} s (median), {seconds[-1]:.3f} s (most)")
    # Other programs may use /dev/shm meanwhile; the library's own files would carry its name.
    new = {name for name in jobs.shared_memory_files() - files_before if "ronde" in name}
    assert not new, f"left in /dev/shm: {new}"


if __name__ == "__main__":
    main()
