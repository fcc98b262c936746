#!/usr/bin/env python3
"""The example that goes on when ranks die, under ronderun --keep-going: two ranks are killed, one after the other.

    recover_test.py RONDERUN EXAMPLE_RECOVER
"""
import os
import re
import signal
import subprocess
import sys
import time

import jobs

RANKS = 4
STEPS = 100  # of 0.1 s: long enough for the kills
LIMIT_S = 60


def main():
    job = subprocess.Popen([sys.argv[1], "-n", str(RANKS), "--keep-going", sys.argv[2], str(STEPS)], env=jobs.environment(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = [job.stdout.readline() for _ in range(RANKS)]
        pids = dict((int(rank), int(pid)) for rank, pid in re.findall(r"rank (\d+) of \d+ is process (\d+)", "".join(lines)))
        assert len(pids) == RANKS, lines
        for rank in (0, 2):
            time.sleep(1)
            os.kill(pids[rank], signal.SIGKILL)
        output, error = job.communicate(timeout=LIMIT_S)
    finally:
        job.kill()
        job.wait()
    print(output, error)
    assert job.returncode == 0, job.returncode
    assert f"{STEPS} steps done; 2 of 4 ranks are left" in output
    for rank in (0, 2):
        assert re.search(rf"ronderun: rank {rank} \(pid {pids[rank]} on .*\) was killed by signal 9", error)


if __name__ == "__main__":
    main()
