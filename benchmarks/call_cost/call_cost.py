#!/usr/bin/env python3
"""What it costs that each call is recorded and compared: this library against one without, alternately in one run.

    python3 benchmarks/call_cost/call_cost.py [--rounds ROUNDS] [--folder FOLDER]

The other library is built from a copy of the sources with without.patch: no digest of a call, no comparison with those of
the other ranks, no record in the black box. (Messages with MACs, which are sent where ranks wait for long, are none of an
operation that moves.) Two ranks on this machine, over shared memory, 8 bytes and 1 MiB. Prints medians and quartiles of the
pairs: microseconds with, without, their difference, their ratio.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PARTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "transports", "benchmarks", "tools", "tests", "examples",
         "LICENSE", "README.md")  # fmt: skip
SIZES = (("8", 200_000), ("1M", 1_500))  # and iterations
WARM_UP = "50"
TIME_COLUMNS = 5, 9  # out of place, in place


def call(*words, **more):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)


def build(folder, patch):
    """Builds a copy of the sources; the folder of its programs."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for part in PARTS:
        path = os.path.join(SOURCE, part)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(folder, part))
        elif os.path.exists(path):
            shutil.copy(path, folder)
    if patch:  # which git leaves alone where it takes the folder for a part of the repository around it
        call("git", "apply", patch, cwd=folder, env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)})
    call("cmake", "--preset", "release", cwd=folder)
    call("cmake", "--build", "build/release", "-j", str(os.cpu_count()), "--target", "allreduce_perf", "ronderun", cwd=folder)
    return os.path.join(folder, "build/release/bin")


def times(programs, size, iterations):
    """Microseconds of an operation, out of place and in place."""
    words = [f"{programs}/ronderun", "-n", "2", f"{programs}/allreduce_perf", "-b", size, "-e", size, "-n", str(iterations),
             "-w", WARM_UP]  # fmt: skip
    text = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    (row,) = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [float(row[column]) for column in TIME_COLUMNS]


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each, alternately; default: 20, at least 2")
    parser.add_argument("--folder", default=os.path.join(SOURCE, "build", "call_cost"),
                        help="where both are built, in two folders that are made anew; default: build/call_cost")  # fmt: skip
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: at least 2")
    folder = os.path.abspath(arguments.folder)
    programs = (build(os.path.join(folder, "with"), None),
                build(os.path.join(folder, "without"), os.path.join(HERE, "without.patch")))  # fmt: skip
    for size, iterations in SIZES:
        pairs = []
        for number in range(arguments.rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {which: times(programs[which], size, iterations) for which in order}
            pairs += zip(found[0], found[1])
        print(f"{size} bytes: {statistics.median(a for a, _ in pairs):.2f} us with, "
              f"{statistics.median(b for _, b in pairs):.2f} us without; difference {quartiles([a - b for a, b in pairs])} us, "
              f"ratio {quartiles([a / b for a, b in pairs])}", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
