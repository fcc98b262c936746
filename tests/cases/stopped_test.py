#!/usr/bin/env python3
"""A rank that is stopped, not dead (case 13): no error, the others name it, use no processor meanwhile (case 20), and go on
with right results when it goes on.

    stopped_test.py ALLREDUCE_PERF RONDERUN [SECONDS WARNING ROUNDS]

SECONDS that it is stopped; WARNING: RONDE_LATE_WARNING. In each round rank 0, one in the middle and the last one are
stopped, each in a job of its own; all at the same time where the stop is long.
"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import time

import jobs

NRANKS = 5
LIMIT_S = 60    # for a row; with sanitizers one takes seconds
TOLERANCE_S = 1  # of the warning, where it is long enough that the machine's other work does not count
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


def said_by(err_path, rank):
    with open(err_path, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if f"rank {rank} of {NRANKS}: " in line]


def first_words(err_path, others, seconds):
    """{rank: when it said something first}, in seconds from now; waits for all of SECONDS."""
    begin = time.monotonic()
    found = {}
    while time.monotonic() < begin + seconds:
        time.sleep(0.05)
        for other in others:
            if other not in found and said_by(err_path, other):
                found[other] = time.monotonic() - begin
    return found


def run(programs, transport, size, rank, seconds, warning):
    perf, ronderun = programs
    mark = f"{os.getpid()}-{transport}-{size}-{rank}"
    name = f"{transport}, {size}, rank {rank} stopped for {seconds} s"
    settings = {"RONDE_TRANSPORT": transport, "RONDE_LATE_WARNING": str(warning), jobs.MARK: mark}
    others = [other for other in range(NRANKS) if other != rank]
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
            before = {other: cpu_seconds(pids[other]) for other in others}
            words = first_words(err_path, others, seconds)
            used = {other: cpu_seconds(pids[other]) - before[other] for other in others}
            rows_before = len(rows(out_path))
            os.kill(pids[rank], signal.SIGCONT)
            wait_for(lambda: len(rows(out_path)) >= rows_before + 2, job, LIMIT_S, f"{name}: rows after it went on")
            wrong = [row for row in rows(out_path) if len(row) >= 13 and (row[8], row[12]) != ("0", "0")]
            assert not wrong, f"{name}: {wrong}"
            assert not said_by(err_path, rank), f"{name}: {said_by(err_path, rank)}"
            for other in others:
                said = said_by(err_path, other)
                assert len(said) == 1 and f"for rank {rank}, which does not answer" in said[0], f"{name}: {said}"
            assert set(words) == set(others), f"{name}: only {sorted(words)} have said something in time"
            latest = 0.3 + max(words.values())
            if warning > 5:
                assert all(abs(0.3 + after - warning) <= TOLERANCE_S for after in words.values()), f"{name}: {words}"
            assert max(used.values()) <= 0.1 * seconds, f"{name}: processor time {used}"
            print(f"{name}: named by all others within {latest:.1f} s; they used {max(used.values()):.2f} s of processor "
                  "time", flush=True)
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
    seconds, warning, rounds = (float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])) if len(sys.argv) > 5 else (2, 1, 2)
    with concurrent.futures.ThreadPoolExecutor(3 if seconds > 10 else 1) as pool:
        for number in range(rounds):
            transport = ("shm", "tcp")[number % 2]
            stops = [pool.submit(run, programs, transport, size, rank, seconds, warning)
                     for size, rank in (("8M", 0), ("8" if number % 4 in (1, 2) else "8M", NRANKS // 2), ("8M", NRANKS - 1))]
            for stop in stops:
                stop.result()


if __name__ == "__main__":
    main()
