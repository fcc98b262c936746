#!/usr/bin/env python3
"""Situations 18, 20 and 21: shared memory that is small, full or read-only; one core; containers and equal host names. The
first argument chooses the part.

    odd_machines_test.py PART ALLREDUCE_PERF RONDERUN
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from host_jobs import Launcher, check_right, environment
from namespaces import Hosts, need_namespaces

ARGUMENTS = ["-b", "4", "-e", "4M", "-f", "64", "-n", "2"]
NRANKS = 8


def run_job(words, seconds=60, **settings):
    begin = time.monotonic()
    done = subprocess.run(words, env=environment(**settings), timeout=seconds, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    print(f"--- {' '.join(words)}: exit code {done.returncode} after {time.monotonic() - begin:.1f} s\n"
          f"{done.stdout}{done.stderr}", flush=True)
    return done


def in_mounts(script, words):
    return ["unshare", "-m", "sh", "-c", f'set -e\n{script}\nexec "$@"', "sh", *words]


def perf_job(perf, ronderun, *more):
    return [ronderun, "-n", str(NRANKS), perf, *(more or ARGUMENTS)]


# ---- 18: shared memory ---------------------------------------------------------------------------------------------------


def with_shm(perf, ronderun, script):
    check_right(run_job(in_mounts(script, perf_job(perf, ronderun))))


def small_shm(perf, ronderun):
    with_shm(perf, ronderun, "mount -t tmpfs -o size=64m tmpfs /dev/shm")


def full_shm(perf, ronderun):
    with_shm(perf, ronderun, "mount -t tmpfs -o size=1m tmpfs /dev/shm\n"
             "dd if=/dev/zero of=/dev/shm/filler bs=4k 2>/dev/null || true\ntest $(stat -f -c %f /dev/shm) = 0")


def read_only_shm(perf, ronderun):
    with_shm(perf, ronderun, "mount -t tmpfs -o ro tmpfs /dev/shm")


def killed_jobs(perf, ronderun):
    """Nothing stays in /dev/shm of jobs all of whose processes are killed."""
    before = sorted(os.listdir("/dev/shm"))
    for number in range(10):
        job = subprocess.Popen(perf_job(perf, ronderun, "-b", "1M", "-e", "1M", "-n", "5", "-N", "0"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=environment(), start_new_session=True)
        for line in job.stdout:  # until there are rows, sometimes only until it starts
            if number % 3 == 0 or not line.startswith(b"#"):
                break
        os.killpg(job.pid, signal.SIGKILL)
        job.stdout.close()
        job.wait()
    assert sorted(os.listdir("/dev/shm")) == before


# ---- 20: one core --------------------------------------------------------------------------------------------------------


def one_core(perf, ronderun):
    """1,000 operations of 1 KiB in at most 10 s."""
    begin = time.monotonic()
    done = run_job(["taskset", "-c", str(min(os.sched_getaffinity(0))),
                    *perf_job(perf, ronderun, "-b", "1K", "-e", "1K", "-n", "1000", "-w", "1")])
    check_right(done)
    row = next(line.split() for line in done.stdout.splitlines() if line.strip() and not line.startswith("#"))
    seconds = 1000 * float(row[5]) * 1e-6
    print(f"1,000 operations in {seconds:.2f} s; all of it {time.monotonic() - begin:.2f} s")
    assert seconds <= 10


# ---- 21: containers and names --------------------------------------------------------------------------------------------


def own_surroundings(hostname):
    """A container's view: names, mounts and /dev/shm of its own."""
    script = f"set -e\nhostname {hostname}\nmount -t tmpfs -o size=8m tmpfs /dev/shm\nexec \"$@\""
    return ["unshare", "-m", "-u", "sh", "-c", script, "sh"]


def containers(perf, ronderun):
    """Two on one kernel with the same name: they share a network, or each has its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "run")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec unshare -m -u sh -c 'hostname same && mount -t tmpfs -o size=8m tmpfs /dev/shm && "
                       f"exec {perf} {' '.join(ARGUMENTS)}'\n")
        os.chmod(script, 0o700)
        check_right(run_job([ronderun, "-n", "2", script]))
    with Hosts(2, "4") as hosts, Launcher(hosts, (perf, ronderun)) as launcher:
        launcher.enter = {host: own_surroundings("same") for host in range(2)}
        check_right(launcher.run([1, 1], ARGUMENTS))


def names(perf, ronderun):
    """Two hosts whose names are equal, and two whose names differ only after the first dot."""
    for pair in (("node", "node"), ("node.east", "node.west")):
        with Hosts(2, "4") as hosts, Launcher(hosts, (perf, ronderun)) as launcher:
            launcher.enter = {host: own_surroundings(name) for host, name in enumerate(pair)}
            check_right(launcher.run([2, 2], ARGUMENTS))


if __name__ == "__main__":
    need_namespaces()
    globals()[sys.argv[1]](*sys.argv[2:])
