#!/usr/bin/env python3
"""Every type and reduction, over every way to move bytes: `allreduce_perf -d all -o all` must find nothing wrong.

usage: type_matrix.py BIN_FOLDER [--only WORD]...   BIN_FOLDER holds ronderun and allreduce_perf

Runs each combination of ranks, transport and algorithm below, one after the other, and prints a line for each. Exit code
1 if one of them reports a wrong element, fails, or ends without its closing line. --only keeps the combinations whose
line contains all the words.
"""

import argparse
import os
import subprocess
import sys
import time

RANKS = (1, 2, 3, 4, 5, 7, 8, 12)
TCP_RANKS = (2, 3, 5, 8)
SMALL = ["-b", "1", "-e", "256K", "-f", "4", "-n", "5", "-d", "all", "-o", "all"]
LARGE = ["-b", "1", "-e", "16M", "-f", "4", "-n", "5", "-d", "all", "-o", "all"]


def combinations():
    for ranks in RANKS:
        for algorithm in ("ring", "star", "two_shot"):
            yield ranks, "shm", algorithm, SMALL
            yield ranks, "threads", algorithm, SMALL
    for ranks in TCP_RANKS:
        for algorithm in ("ring", "star"):
            yield ranks, "tcp", algorithm, SMALL
    for ranks in (4, 8):
        yield ranks, "shm", "ring", LARGE


def command(folder, ranks, way, arguments):
    program = os.path.join(folder, "allreduce_perf")
    if way == "threads":
        return [program, "-t", str(ranks)] + arguments
    return [os.path.join(folder, "ronderun"), "-n", str(ranks), program] + arguments


def wrong_elements(output):
    """Rows, and wrong elements over all rows (columns '#wrong', out of place and in place)."""
    rows = wrong = 0
    for line in output.splitlines():
        columns = line.split()
        if len(columns) == 13 and columns[0].isdigit():
            rows += 1
            wrong += int(columns[8]) + int(columns[12])
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    failures = runs = 0
    for ranks, way, algorithm, arguments in combinations():
        name = f"n={ranks} {way} {algorithm} {arguments[3]}"
        if not all(word in name for word in options.only):
            continue
        environment = dict(os.environ, RONDE_ALGO=algorithm)
        if way != "threads":
            environment["RONDE_TRANSPORT"] = way
        begin = time.monotonic()
        result = subprocess.run(command(options.folder, ranks, way, arguments), env=environment, text=True,
                                capture_output=True, timeout=900)
        rows, wrong = wrong_elements(result.stdout)
        good = result.returncode == 0 and wrong == 0 and rows > 0 and "Out of bounds values : 0 OK" in result.stdout
        print(f"{name}: {rows} rows, {wrong} wrong, {time.monotonic() - begin:.1f} s{'' if good else '  FAILED'}",
              flush=True)
        if not good:
            failures += 1
            print(result.stderr[-2000:], flush=True)
        runs += 1
    print(f"{runs - failures} passed, {failures} failed")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
