#!/usr/bin/env python3
"""allreduce_perf as people use it. Each function is one test; the first argument chooses.

    allreduce_perf_test.py TEST PROGRAM TRACES
"""
import json
import os
import sys
import tempfile

import perf_program


def all_right(done, number_of_rows):
    assert done.returncode == 0
    counts = perf_program.wrong_counts(done.stdout)
    assert len(counts) == number_of_rows, len(counts)
    assert set(counts) == {("0", "0")}, counts
    assert done.stdout.splitlines()[-1] == "# Collective test concluded: allreduce_perf"


def every_type_and_op(program):
    """Threads, groups of ranks in a thread, ranks alone, sizes that fit nothing; streams and blocking calls."""
    for threads, ranks in ((1, 1), (2, 1), (3, 2), (1, 4)):
        for blocking in ("-y 0", "-y 1"):
            done = perf_program.run(program, f"-t {threads} -g {ranks} {blocking} -b 0 -e 1000 -i 250 -n 1 -w 0 -c 2 "
                                             "-d all -o all")
            all_right(done, (12 * 6 + 6 * 3) * 5)  # three of nine are for the six integer types


def flags(program):
    for arguments in ("-m 4", "-z 1", "-z 2", "-z 3", "-a 0", "-a 2", "-a 3", "-u 1", "-C 1", "-p 1", "-r 1", "-w 3"):
        all_right(perf_program.run(program, "-t 2 -b 4K -e 64K -f 4 -n 3 " + arguments), 3)
    all_right(perf_program.run(program, "-t 2 -b 8 -e 8 -n 3 -N 3"), 3)
    done = perf_program.run(program, "-t 2 -b 8 -e 8 -n 3 -I 1 -S 1")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("i_min", "i_max", "i_p99", "i_cv%", "timestamp"))


def refusals(program):
    for arguments in ("-t 0", "-b 1x", "-G 1", "-o xor", "--nonsense", "--sizes-from /nonexistent/file",
                      "--sizes-from x -b 8"):
        done = perf_program.run(program, arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == "", arguments
        assert len(done.stderr.splitlines()) == 1, arguments
    assert perf_program.run(program, "", RONDE_PERF_FLIP="nonsense").returncode == 2


def json_and_counters(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.json")
        for name in (path, path + ".0", path + ".1"):
            done = perf_program.run(program, f"-t 2 -b 1M -e 1M -n 2 --counters -J {path}", SECRET_OF_TEST="hidden")
            assert done.returncode == 0
            with open(name, encoding="utf-8") as file:
                text = file.read()
        assert "hidden" not in text
        report = json.loads(text)
    assert [row["size"] for row in report["results"]] == [1 << 20]
    assert report["results"][0]["out_of_place"]["nwrong"] == 0
    assert {row["rank"] for row in report["counters"]} == {0, 1}
    for rank in (0, 1):
        sent = sum(row["sent"] for row in report["counters"] if row["rank"] == rank)
        # Two ranks cannot reduce 1 MiB with less than half of it each; more than twice would be a waste.
        assert 1 << 19 <= sent <= 1 << 21, sent
    assert "# Bytes moved by one" in done.stdout


def processes(program):
    """Two processes of two threads; rank 0 alone writes the table."""
    started = perf_program.start_ranks(program, "-t 2 -b 8 -e 1M -f 8 -n 3 -d float,half -o sum,avg", 2)
    try:
        outputs = [process.communicate(timeout=100) for process in started]
        print(outputs)
        assert [process.returncode for process in started] == [0, 0]
        assert outputs[1][0] == ""
        assert outputs[0][0].count(" Pid ") == 4
        assert set(perf_program.wrong_counts(outputs[0][0])) == {("0", "0")}
    finally:
        perf_program.end_ranks(started)


def replay(program, traces):
    done = perf_program.run(program, f"-t 2 -n 2 --sizes-from {os.path.join(traces, 'resnet50.txt')} -m 32")
    assert done.returncode == 0
    assert "# 161 tensors, 25557032 elements, 102228128 bytes, float sum" in done.stdout
    row = perf_program.rows(done.stdout)[0].split()
    assert row[0] == "102228128" and row[-1] == "0", row
    assert "float sum, 2 steps, 32 tensors a group" in done.stdout
    least, middle, greatest = (float(cell) for cell in row[1:4])
    assert 0 < least <= middle <= greatest
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "one.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("a 1\n")
        done = perf_program.run(program, f"-n 1 --sizes-from {path}")
    assert "# 1 tensor, 1 element, 4 bytes, float sum, 1 step, 1 tensor a group" in done.stdout


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
