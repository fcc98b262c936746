#!/usr/bin/env python3
"""Situation 30: the benchmark tells the truth. Each function is one of its parts; the first argument chooses.

    case_30_test.py PART PROGRAM
"""
import signal
import sys
import time

import perf_program

INTEGERS = ("int8", "uint64")
FLOATS = ("half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2")


def one_byte_flipped(program):
    done = perf_program.run(program, "-t 3 -b 32 -e 128 -f 2 -n 3", RONDE_PERF_FLIP="1:64:5")
    assert done.returncode == 1
    assert perf_program.wrong_counts(done.stdout) == [("0", "0"), ("1", "0"), ("0", "0")]
    assert "FAILED: 1 wrong" in done.stdout.splitlines()[-1]
    assert "OK" not in done.stdout


def every_type_flipped(program):
    """Each type and reduction finds the byte, averages with their tolerance too."""
    for op in ("sum", "prod", "min", "max", "avg", "mulsum", "band", "bor", "bxor"):
        bitwise = op in ("band", "bor", "bxor")
        for kind in INTEGERS if bitwise else INTEGERS + FLOATS:
            done = perf_program.run(program, f"-t 3 -b 64 -e 64 -n 1 -o {op} -d {kind}", RONDE_PERF_FLIP="2:64:0")
            assert done.returncode == 1, (op, kind)
            assert perf_program.wrong_counts(done.stdout) == [("1", "0")], (op, kind)


def checking_off(program):
    done = perf_program.run(program, "-t 2 -b 32 -e 64 -f 2 -n 3 -c 0", RONDE_PERF_FLIP="1:64:5")
    assert done.returncode == 0
    assert perf_program.wrong_counts(done.stdout) == [("N/A", "N/A")] * 2
    assert "not checked" in done.stdout.splitlines()[-1]
    assert "OK" not in done.stdout


def rank_killed(program):
    """Two processes; the second is killed while it runs. The first names its rank and fails within seconds."""
    processes = perf_program.start_ranks(program, "-b 1M -e 1M -n 1 -N 0", 2)
    try:
        first_row = ""
        while first_row == "" or first_row.startswith("#"):
            first_row = processes[0].stdout.readline()
            assert first_row != "", "rank 0 ended before its first row: " + processes[0].stderr.read()
        processes[1].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        output, errors = processes[0].communicate(timeout=30)
        print(output[-2000:], errors)
        assert processes[0].returncode == 1
        assert time.monotonic() - killed < 10
        assert "rank 1" in errors
        assert "FAILED" in output.splitlines()[-1]
    finally:
        perf_program.end_ranks(processes)


def silent_single_ranks(program):
    """A launcher that the library does not know the rest of must not yield n single-rank jobs."""
    for name in ("PMI_SIZE", "SLURM_NTASKS"):
        done = perf_program.run(program, "-b 8 -e 8", **{name: "4"})
        assert done.returncode == 1, name
        assert done.stdout == "", name
        assert done.stderr != "", name


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
