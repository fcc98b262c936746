#!/usr/bin/env python3
"""A process may return from main without destroying anything: it ends within 2 s, and so do the others.

    exit_test.py PROGRAM     PROGRAM: exits_early
"""
import subprocess
import sys
import time

import jobs

NRANKS = 3


def run(program, transport, way, others_go_on):
    command = [program, way] + (["others"] if others_go_on else [])
    ranks = jobs.start_ranks(command, NRANKS, {"RONDE_TRANSPORT": transport},
                             lambda rank: (subprocess.PIPE, subprocess.PIPE))
    try:
        # A rank's end is seen within a poll's time; the ranks run beside each other.
        ended = {}
        deadline = time.monotonic() + 30
        while len(ended) < NRANKS and time.monotonic() < deadline:
            for rank, process in enumerate(ranks):
                if rank not in ended and process.poll() is not None:
                    ended[rank] = time.monotonic()
            time.sleep(0.002)
        name = f"{transport}, {way}{', others go on' if others_go_on else ''}"
        assert len(ended) == NRANKS, f"{name}: ranks {set(range(NRANKS)) - set(ended)} have not ended"
        returned = []
        for rank, process in enumerate(ranks):
            output, errors = process.communicate()
            assert process.returncode == 0, f"{name}: rank {rank}: exit code {process.returncode}: {errors.decode()}"
            assert errors == b"", f"{name}: rank {rank} says: {errors.decode()}"
            returned.append(float(output))
        took = [ended[rank] - returned[rank] for rank in range(NRANKS)]
        learned = max(returned) - min(returned)
        print(f"{name}: ended after {max(took):.3f} s" +
              (f", the others learned it after {learned:.3f} s" if others_go_on else ""), flush=True)
        assert max(took) < 2, f"{name}: {took}"
        assert not others_go_on or learned < 2, f"{name}: {returned}"
    finally:
        jobs.kill_all(ranks)


if __name__ == "__main__":
    for transport in ("shm", "tcp"):
        for way in ("blocking", "stream", "destroy"):
            for others_go_on in (False, True):
                run(sys.argv[1], transport, way, others_go_on)
