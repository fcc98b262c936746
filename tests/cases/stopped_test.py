#!/usr/bin/env python3
"""A rank that is stopped, not dead (case 13): no error, the others name it, use no processor meanwhile (case 20), and go on
with right results when it goes on.

    stopped_test.py ALLREDUCE_PERF RONDERUN [SECONDS WARNING]     SECONDS that it is stopped; RONDE_LATE_WARNING
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import jobs

NRANKS = 4
LIMIT_S = 60  # for a row; with sanitizers one takes seconds
TICKS = os.sysconf("SC_CLK_TCK")


def rank_pids(mark):
    """By rank; empty until all have started."""
    found = {int(text.split("=")[1]): pid for pid, text in jobs.marked(mark, "RONDE_RANK").items()}
    return found if len(found) == NRANKS else {}


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rows(path):
    with open(path, encoding="utf-8") as file:
        complete = file.read().rpartition("\n")[0]
    return [line.split() for line in complete.splitlines() if line.strip() and line[0] != "#"]


def wait_for(condition, job, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        if job.poll() is not None:
            raise AssertionError(f"the job has ended with {job.returncode}: {what}")
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def run(programs, transport, size, rank, seconds, warning, number):
    perf, ronderun = programs
    mark = f"{os.getpid()}-{number}"
    name = f"{transport}, {size}, rank {rank} stopped for {seconds} s"
    settings = {"RONDE_TRANSPORT": transport, "RONDE_LATE_WARNING": str(warning), jobs.MARK: mark}
    with tempfile.TemporaryDirectory() as folder:
        out_path, err_path = os.path.join(folder, "out"), os.path.join(folder, "err")
        with open(out_path, "wb") as out, open(err_path, "wb") as err:
            job = subprocess.Popen([ronderun, "-n", str(NRANKS), perf, "-b", size, "-e", size, "-n", "5", "-N", "0"],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=jobs.environment(**settings))
        try:
            wait_for(lambda: rank_pids(mark) and rows(out_path), job, LIMIT_S, f"{name}: a first row")
            pids = rank_pids(mark)
            os.kill(pids[rank], signal.SIGSTOP)
            time.sleep(0.3)  # until all others wait
            before = {other: cpu_seconds(pid) for other, pid in pids.items()}
            time.sleep(seconds)
            used = {other: cpu_seconds(pid) - before[other] for other, pid in pids.items()}
            rows_before = len(rows(out_path))
            os.kill(pids[rank], signal.SIGCONT)
            wait_for(lambda: len(rows(out_path)) >= rows_before + 2, job, LIMIT_S, f"{name}: rows after it went on")
            wrong = [row for row in rows(out_path) if len(row) >= 13 and (row[8], row[12]) != ("0", "0")]
            assert not wrong, f"{name}: {wrong}"
            with open(err_path, encoding="utf-8") as file:
                errors = file.read().splitlines()
            for other in range(NRANKS):
                said = [line for line in errors if f"rank {other} of {NRANKS}: " in line]
                if other == rank:
                    assert not said, f"{name}: {said}"
                    continue
                assert len(said) == 1 and f"for rank {rank}, which does not answer" in said[0], f"{name}: {errors}"
            assert max(used.values()) <= 0.1 * seconds, f"{name}: processor time {used}"
            print(f"{name}: named by all others; they used {max(used.values()):.2f} s of processor time", flush=True)
        except AssertionError:
            with open(err_path, encoding="utf-8") as file:
                print(file.read(), file=sys.stderr)
            raise
        finally:
            job.terminate()
            job.wait(20)
            jobs.kill_marked(mark)


def main():
    programs = sys.argv[1:3]
    seconds, warning = (float(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (2.0, 1)
    number = 0
    for transport in ("shm", "tcp"):
        for size, rank in (("8", 2), ("8M", 0)):
            number += 1
            run(programs, transport, size, rank, seconds, warning, number)


if __name__ == "__main__":
    main()
