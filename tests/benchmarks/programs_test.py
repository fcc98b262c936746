#!/usr/bin/env python3
"""All *_perf programs: what each flag, column and message must be for every one of them. Each function is one test; the
first argument chooses.

    programs_test.py TEST FOLDER_OF_PROGRAMS
"""
import json
import os
import subprocess
import sys
import tempfile

import perf_program
import programs


def all_right(program, done, number_of_rows):
    assert done.returncode == 0
    counts = perf_program.wrong_counts(done.stdout)
    assert len(counts) == number_of_rows, len(counts)
    assert set(counts) == {("0", "0" if program.in_place else "N/A")}, counts
    assert "# Out of bounds values : 0 OK" in done.stdout
    assert done.stdout.splitlines()[-1] == "# Collective test concluded: " + program.name


def columns(folder):
    """Size, count, redop, root and bandwidths, from the definitions of the operations."""
    for program in programs.ALL:
        for nranks in (1, 2, 3, 4, 8):
            if program.takes(nranks):
                check_columns(program, os.path.join(folder, program.name), nranks)


def check_columns(program, path, nranks):
    root = nranks - 1
    with tempfile.TemporaryDirectory() as temporary:
        report = os.path.join(temporary, "x.json")
        done = perf_program.run(path, f"-t {nranks} -b 0 -e 5000 -i 1000 -n 1 -d int8,double -r {root} -J {report}")
        all_right(program, done, 12)
        with open(report, encoding="utf-8") as file:
            rows = json.load(file)["results"]
    asked = [(element, size) for element in (1, 8) for size in range(0, 5001, 1000)]
    lines = [line.split() for line in perf_program.rows(done.stdout)]
    assert len(rows) == len(lines) == len(asked)
    for row, line, (element, size) in zip(rows, lines, asked):
        unit = element * program.blocks(nranks)
        assert row["count"] == size // unit, row
        assert row["size"] == row["count"] * unit, row
        expected = (program.column_redop(), str(root if program.has_root else -1))
        assert (row["redop"], row["root"]) == expected == tuple(line[3:5]), (row, line)
        for side in ("out_of_place", "in_place") if program.in_place else ("out_of_place",):
            numbers = row[side]
            assert abs(numbers["alg_bw"] * numbers["time"] * 1e3 - row["size"]) <= 1e-6 * row["size"], row
            assert abs(numbers["bus_bw"] - numbers["alg_bw"] * program.factor(nranks)) <= 1e-9 * numbers["alg_bw"], row
        if not program.in_place:
            assert row["in_place"] == {"time": None, "alg_bw": None, "bus_bw": None, "nwrong": "N/A"}, row


def flags(folder):
    """Groups of calls, of ranks, streams, waits, misaligned buffers, cycles, spread: all of them with every program."""
    for program in programs.ALL:
        path = os.path.join(folder, program.name)
        for arguments in ("-m 4", "-m 3 -y 0", "-z 1", "-z 3 -y 0", "-u 1", "-a 3 -C 1", "-r 1 -o prod", "-w 3 -N 2"):
            done = perf_program.run(path, "-t 2 -b 8K -e 64K -f 8 -n 3 " + arguments)
            all_right(program, done, 4 if "-N" in arguments else 2)
        for arguments in ("-t 1 -g 4", "-t 2 -g 2 -m 2", "-t 2 -g 2 -y 0"):
            all_right(program, perf_program.run(path, "-b 8K -e 64K -f 8 -n 3 " + arguments), 2)
        done = perf_program.run(path, "-t 2 -b 1K -e 1K -n 3 -I 1 -S 1 -c 0")
        assert done.returncode == 0
        wrong = perf_program.rows(done.stdout)[0].split()
        assert wrong.count("N/A") == (2 if program.in_place else 9), wrong


def roots(folder):
    for program in programs.ALL:
        path = os.path.join(folder, program.name)
        for arguments in ("-r all", "-r -1", "--root=-1"):
            done = perf_program.run(path, f"-t 4 -b 4K -e 4K -n 1 {arguments}")
            number = 4 if program.has_root else 1
            all_right(program, done, number)
            seen = [row.split()[4] for row in perf_program.rows(done.stdout)]
            assert seen == ([str(root) for root in range(4)] if program.has_root else ["-1"]), seen
        done = perf_program.run(path, "-t 2 -b 8 -e 8 -r 2")
        if program.has_root:
            refused(done, f"{program.name}: -r/--root: root 2 is none of the 2 ranks, which count from 0")
        else:
            all_right(program, done, 1)


def refused(done, message):
    assert done.returncode == 2, done.returncode
    assert done.stdout == "", done.stdout
    assert done.stderr.splitlines()[0].startswith(message), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def refusals(folder):
    for program in programs.ALL:
        path = os.path.join(folder, program.name)
        for arguments in ("-t 0", "-b 1x", "-G 1", "-r x", "--nonsense", "stray"):
            refused(perf_program.run(path, arguments), f"{program.name}: ")
        refused(perf_program.run(path, "-o xor"), f"{program.name}: -o/--op: there is no reduction \"xor\"")
        if program.reduces:
            refused(perf_program.run(path, "-o sum,band -d int8,half"),
                    f"{program.name}: -o/--op: band is for integers, not for half")
        if program.name != "allreduce_perf":
            refused(perf_program.run(path, "--sizes-from x"), f"{program.name}: --sizes-from: replays the allreduces")
        if program.power_of_two:
            refused(perf_program.run(path, "-t 3"), f"{program.name}: needs 1, 2, 4, 8 ... ranks")
        if program.name != "alltoallv_perf":
            refused(perf_program.run(path, "--matrix x"), f"{program.name}: there is no flag \"--matrix\"")


def helps(folder):
    """Every program explains itself."""
    for program in programs.ALL:
        done = perf_program.run(os.path.join(folder, program.name), "--help")
        assert done.returncode == 0 and done.stderr == ""
        assert done.stdout.startswith("Measures and checks ")
        assert f"Usage: {program.name} [OPTIONS]" in done.stdout
        for words in ("--nthreads", "Columns, with n ranks: size = ", "busbw = algbw * ", "Exit code: 0 "):
            assert words in done.stdout, words
        assert ("accepted; this program has no reduction" in done.stdout) != program.reduces
        version = perf_program.run(os.path.join(folder, program.name), "--version").stdout
        assert version.startswith(f"{program.name} (Ronde) "), version


def flipped(folder):
    """One wrong byte on one rank is one wrong element, whatever the operation and the type."""
    for program in programs.ALL:
        path = os.path.join(folder, program.name)
        for kind in ("int8", "float", "double"):
            # The first byte, and one in the middle of an element.
            for index in (0, 257):
                flags = f"-t 4 -b 32K -e 32K -n 1 -d {kind} -r 2"
                size = perf_program.rows(perf_program.run(path, flags + " -c 0").stdout)[0].split()[0]
                done = perf_program.run(path, flags, RONDE_PERF_FLIP=f"2:{size}:{index}")
                assert done.returncode == 1, (program, kind)
                assert perf_program.wrong_counts(done.stdout) == [("1", "0" if program.in_place else "N/A")], program
                assert "FAILED: 1 wrong" in done.stdout.splitlines()[-1]


def touched(folder):
    """A byte that nobody may have written: behind the buffers, and on a rank that gets no result."""
    for program in programs.ALL:
        path = os.path.join(folder, program.name)
        flags = "-t 4 -b 32K -e 32K -n 1 -d int8 -r 2"
        size, count = (int(cell) for cell in perf_program.rows(perf_program.run(path, flags).stdout)[0].split()[:2])
        # Of hypercube_perf the size leaves out the rank's own block.
        end = size + count if program.power_of_two else size
        for rank, index in [(2, end)] + [(1, 0)] * program.root_receives:
            done = perf_program.run(path, flags, RONDE_PERF_FLIP=f"{rank}:{size}:{index}")
            assert done.returncode == 1, program
            assert perf_program.wrong_counts(done.stdout) == [("0", "0" if program.in_place else "N/A")], program
            assert done.stdout.splitlines()[-1].endswith("FAILED: 0 wrong elements, 1 bytes out of bounds"), program
            assert "# Out of bounds values : 1 FAILED" in done.stdout, program


def matrix(folder):
    """alltoallv_perf --matrix."""
    program = programs.BY_NAME["alltoallv_perf"]
    path = os.path.join(folder, program.name)
    with tempfile.TemporaryDirectory() as temporary:
        file = os.path.join(temporary, "matrix.txt")
        with open(file, "w", encoding="ascii") as text:
            text.write("# all to rank 1, which answers nobody\n0 5 0\n0 0 0\n0 2 1\n")
        done = perf_program.run(path, f"-t 3 -b 7K -e 7K -n 2 --matrix {file} --counters")
        all_right(program, done, 1)
        assert perf_program.rows(done.stdout)[0].split()[:2] == ["7168", "256"]
        moved = [line.split() for line in done.stdout.splitlines() if line.startswith("#       7168")]
        sent = {cells[5]: cells[7] for cells in moved}
        assert sent == {"0": "5120", "1": "0", "2": "2048"}, sent
        refused(perf_program.run(path, f"-t 2 --matrix {file}"), "alltoallv_perf: --matrix has 3 rows, there are 2 ")
        with open(file, "w", encoding="ascii") as text:
            text.write("1 2\n")
        refused(perf_program.run(path, f"-t 2 --matrix {file}"), f"alltoallv_perf: --matrix {file}: {file}: 1 rows")
    refused(perf_program.run(path, "-t 2 --matrix /nonexistent"), "alltoallv_perf: --matrix /nonexistent: ")


def processes(folder):
    """Two processes of two threads; rank 0 alone writes the table."""
    for program in programs.ALL:
        started = perf_program.start_ranks(os.path.join(folder, program.name), "-t 2 -b 8 -e 1M -f 64 -n 3 -r all", 2)
        try:
            outputs = [process.communicate(timeout=60) for process in started]
            print(outputs)
            assert [process.returncode for process in started] == [0, 0]
            assert outputs[1][0] == ""
            assert set(perf_program.wrong_counts(outputs[0][0])) == {("0", "0" if program.in_place else "N/A")}
        finally:
            perf_program.end_ranks(started)


def launched(folder):
    """What is wrong on all ranks is said once; what is wrong on one ends all."""
    def run(command):
        done = perf_program.run(os.path.join(folder, "ronderun"), command)
        said = [line for line in done.stderr.splitlines() if "_perf: " in line]
        return done, said
    program = os.path.join(folder, "broadcast_perf")
    for arguments, words in (("-n", "-n/--iters: needs a value"), ("-r 3", "-r/--root: root 3 is none of the 3 ranks")):
        done, said = run(f"-n 3 {program} {arguments}")
        assert done.returncode == 2 and done.stdout == ""
        assert len(said) == 1 and words in said[0], said
    done, said = run(f"-n 3 {os.path.join(folder, 'alltoallv_perf')} --matrix /nonexistent")
    assert done.returncode == 2 and len(said) == 1, said
    done, said = run(f"-n 3 {program} --help")
    assert done.returncode == 0 and done.stdout.count("Usage: ") == 1 and done.stderr == ""
    done, said = run(f"-n 3 {program} -b 1000T -e 1000T")
    assert done.returncode == 1
    assert len(said) == 1 and said[0].endswith(" bytes at most"), said
    assert "-b/--minbytes: a size of 1099511627776000 bytes does not fit into memory; with 3 ranks there is " in said[0]
    started = perf_program.start_ranks(program, "-n", 2)
    outputs = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [2, 2]
    assert [len(errors.splitlines()) for _, errors in outputs] == [1, 0], outputs
    with tempfile.TemporaryDirectory() as temporary:
        for rank, number in ((0, 1), (1, 0)):
            script = os.path.join(temporary, "script.sh")
            with open(script, "w", encoding="ascii") as text:
                text.write(f"[ $RONDE_RANK = {rank} ] && exec {program} -n\nexec {program} -N 0\n")
            done, said = run(f"-n 2 sh {script}")
            assert done.returncode == 2
            assert sum("needs a value" in line for line in said) == number, said


def odd_files(folder):
    """What is printed and cannot be written is an error; what never ends, or is a folder, is no input."""
    program = os.path.join(folder, "allreduce_perf")
    for arguments in ("-b 8 -e 8 -n 1", "--help"):
        for shut in (f"{program} {arguments} > /dev/full", f"{program} {arguments} >&-"):
            done = subprocess.run(["sh", "-c", shut], env=perf_program.environment(), timeout=100, text=True,
                                  stderr=subprocess.PIPE, check=False)
            assert done.returncode == 1, (shut, done)
            assert "cannot write to the standard output: " in done.stderr, (shut, done)
    for arguments, words in (("--sizes-from /dev/zero", "has more than 16777216 bytes"),
                             ("--sizes-from /", "Is a directory")):
        refused(perf_program.run(program, arguments), f"allreduce_perf: {arguments.split()[0]}: ")
        assert words in perf_program.run(program, arguments).stderr
    matrix = os.path.join(folder, "alltoallv_perf")
    for path, words in (("/dev/zero", "has more than 16777216 bytes"), ("/", "Is a directory")):
        assert words in perf_program.run(matrix, f"--matrix {path}").stderr
    done = perf_program.run(program, "-b 8 -e 8 -n 1 -J /dev/full")
    assert done.returncode == 1 and "cannot write /dev/full" in done.stderr
    assert not os.path.exists("/dev/full.0")
    done = perf_program.run(program, "-b 8 -e 8 -n 1", RONDE_PERF_FLIP="0:8:99999999999")
    assert done.returncode == 1 and "has no byte 99999999999" in done.stderr


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
