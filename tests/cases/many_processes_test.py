#!/usr/bin/env python3
"""Many processes on one host over tcp: how long they take to start, reduce and end, and how many files each has open.

    many_processes_test.py CYCLES_PROGRAM [NRANKS [TIMES]]

A rank's connections must grow like the logarithm of the number of ranks.
"""
import math
import re
import statistics
import sys
import time

import jobs

PAUSE_S = 1              # that the program makes before it counts its files
BESIDE_CONNECTIONS = 16  # standard streams, event loop, doorbell, memory files, listener, what start-up leaves


def main():
    program = sys.argv[1]
    nranks, times = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (64, 1)
    neighbours = 2 * math.ceil(math.log2(nranks))
    seconds = []
    for _ in range(times):
        begin = time.monotonic()
        ended = jobs.run_ranks([program, "1"], nranks, {"RONDE_TRANSPORT": "tcp"}, 60)
        seconds.append(time.monotonic() - begin - PAUSE_S)
        assert not any(code for code, _ in ended), ended
        files = [int(re.search(r"^1 (\d+) ", text, re.MULTILINE)[1]) for _, text in ended]
        assert max(files) <= neighbours + 2 + BESIDE_CONNECTIONS, f"open files by rank: {files}"
    print(f"{nranks} processes: {statistics.median(seconds):.2f} s (median of {times}) to start all, reduce and end; "
          f"{min(files)} to {max(files)} open files each, for {neighbours} control neighbours at most")


if __name__ == "__main__":
    main()
