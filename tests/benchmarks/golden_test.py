#!/usr/bin/env python3
"""The whole output of one run of a program is its file in golden/, times aside.

    golden_test.py PROGRAM GOLDEN [--update]
"""
import difflib
import sys

import perf_program

ARGUMENTS = "-t 2 -b 8 -e 1K -f 2 -n 5"


def main():
    program, golden = sys.argv[1:3]
    done = perf_program.run(program, ARGUMENTS)
    assert done.returncode == 0, "exit code"
    assert done.stderr == "", "something on stderr"
    got = perf_program.normalize(done.stdout)
    if "--update" in sys.argv:
        with open(golden, "w", encoding="ascii") as file:
            file.write(got)
    with open(golden, encoding="ascii") as file:
        want = file.read()
    difference = "".join(difflib.unified_diff(want.splitlines(True), got.splitlines(True), "golden", "output"))
    assert not difference, "\n" + difference


if __name__ == "__main__":
    main()
