#!/usr/bin/env python3
"""Every *_perf program with every type and reduction, over every way to move bytes: nothing may be wrong.

usage: collective_matrix.py BIN_FOLDER [--quick] [--only WORD]...   BIN_FOLDER holds ronderun and the programs

Runs each combination of program, ranks and way below, one after the other, and prints a line for each. Programs with a
root run with the last rank as root, and once with every rank. Exit code 1 if one of them reports a wrong element, fails,
or ends without its closing line. --only keeps the combinations whose line contains all the words. --quick: few ranks and
sizes.
"""

import argparse
import os
import subprocess
import sys
import time

import perf_program
import programs

# Sizes that are no multiples of anything; the large ones have many slices and pieces.
ALL_SIZES = "-b 1 -e 256K -f 7 -n 1 -w 0 -d all"
LARGE_SIZES = "-b 1000003 -e 16M -f 4 -n 1 -w 0 -d int8,half,float -u 1"
ALL_ROOTS = "-b 100 -e 100K -f 1000 -n 1 -w 0 -d double -r all"
QUICK_SIZES = "-b 3 -e 40K -f 100 -n 1 -w 0 -d all"

# Way: how ranks are started, what else the environment says. ring: links instead of windows, where both can be.
WAYS = {
    "threads": ("threads", {}),
    "threads-ring": ("threads", {"RONDE_ALGO": "ring"}),
    "shm": ("processes", {"RONDE_TRANSPORT": "shm"}),
    "shm-ring": ("processes", {"RONDE_TRANSPORT": "shm", "RONDE_ALGO": "ring"}),
    "tcp": ("processes", {"RONDE_TRANSPORT": "tcp"}),
}
RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 12)
QUICK_RANKS = (3, 4)


def arguments_of(program, nranks, quick):
    root = f" -r {nranks - 1}" if program.has_root else ""
    yield (QUICK_SIZES if quick else ALL_SIZES) + (" -o all" if program.reduces else "") + root
    if program.has_root and nranks > 1:
        yield ALL_ROOTS
    if not quick:
        yield LARGE_SIZES + root


def combinations(quick):
    for nranks in QUICK_RANKS if quick else RANKS:
        for way in WAYS:
            for program in programs.ALL:
                if program.takes(nranks):
                    for arguments in arguments_of(program, nranks, quick):
                        yield program, nranks, way, arguments


def command(folder, program, nranks, way, arguments):
    path = os.path.join(folder, program.name)
    if WAYS[way][0] == "threads":
        return [path, "-t", str(nranks)] + arguments.split()
    return [os.path.join(folder, "ronderun"), "-n", str(nranks), path] + arguments.split()


def count(program, output):
    """Rows, and elements that are wrong in them."""
    rows = wrong = 0
    for out_of_place, in_place in perf_program.wrong_counts(output):
        rows += 1
        wrong += int(out_of_place) + (int(in_place) if program.in_place else 0)
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    failures = runs = all_rows = all_wrong = 0
    for program, nranks, way, arguments in combinations(options.quick):
        name = f"{program.name} n={nranks} {way} {arguments}"
        if not all(word in name.split() for word in options.only):
            continue
        begin = time.monotonic()
        done = subprocess.run(command(options.folder, program, nranks, way, arguments), text=True, capture_output=True,
                              env=perf_program.environment(**WAYS[way][1]), timeout=900, check=False)
        rows, wrong = count(program, done.stdout)
        good = done.returncode == 0 and wrong == 0 and rows > 0 and "Out of bounds values : 0 OK" in done.stdout
        print(f"{name}: {rows} rows, {wrong} wrong, {time.monotonic() - begin:.1f} s{'' if good else '  FAILED'}",
              flush=True)
        if not good:
            failures += 1
            print(done.stdout[-500:] + done.stderr[-2000:], flush=True)
        runs += 1
        all_rows += rows
        all_wrong += wrong
    print(f"{runs - failures} passed, {failures} failed; {all_rows} rows, {all_wrong} wrong elements")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
