#!/usr/bin/env python3
"""Each operation moves the least bytes that it can, by the library's own counters: against the formula of each rank.

    traffic_test.py BIN_FOLDER [--table]    BIN_FOLDER holds ronderun and the programs

--table prints what docs/collectives.md shows instead.
"""
import json
import os
import subprocess
import sys
import tempfile

import perf_program
import programs

BLOCK = 96 * 1024  # bytes; several slices


class Moved:
    """What the ranks of one operation have moved: lists of bytes, by rank."""

    def __init__(self, sent, received):
        self.sent, self.received = sent, received

    def __eq__(self, other):
        return (self.sent, self.received) == (other.sent, other.received)


def all_the_same(nranks, number):
    return Moved([number] * nranks, [number] * nranks)


def between(nranks, number_of):
    """Of messages straight from rank to rank, with number_of(sender, receiver) bytes."""
    ranks = range(nranks)
    return Moved([sum(number_of(r, other) for other in ranks if other != r) for r in ranks],
                 [sum(number_of(other, r) for other in ranks if other != r) for r in ranks])


def expected(name, nranks, size, root):
    """By rank, on links: least that the operation takes. size: that of the table."""
    block = size // nranks
    unit = size // programs.busiest(nranks)
    return {
        "allreduce_perf": lambda: all_the_same(nranks, 2 * (nranks - 1) * block),
        "all_gather_perf": lambda: all_the_same(nranks, (nranks - 1) * block),
        "reduce_scatter_perf": lambda: all_the_same(nranks, (nranks - 1) * block),
        "alltoall_perf": lambda: between(nranks, lambda sender, receiver: block),
        "alltoallv_perf": lambda: between(nranks, lambda sender, receiver: unit * programs.units(sender, receiver)),
        "gather_perf": lambda: between(nranks, lambda sender, receiver: block if receiver == root else 0),
        "scatter_perf": lambda: between(nranks, lambda sender, receiver: block if sender == root else 0),
        "sendrecv_perf": lambda: between(nranks, lambda sender, receiver: size * (receiver == (sender + 1) % nranks)),
        "hypercube_perf": lambda: all_the_same(nranks, size),
    }[name]()


def measure(folder, name, nranks, root, settings):
    """Size, and what the ranks moved, after a look at column ideal."""
    size = BLOCK * max(programs.BY_NAME[name].blocks(nranks), 1)
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "x.json")
        command = [os.path.join(folder, "ronderun"), "-n", str(nranks), os.path.join(folder, name)]
        command += f"-b {size} -e {size} -n 1 -w 0 -r {root} --counters -J {path}".split()
        done = subprocess.run(command, env=perf_program.environment(**settings), text=True, capture_output=True,
                              timeout=100, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    assert report["results"][0]["size"] == size
    moved = all_the_same(nranks, 0)
    for row in report["counters"]:
        moved.sent[row["rank"]] += row["sent"]
        moved.received[row["rank"]] += row["received"]
        assert round(row["ideal"]) == least(name, nranks, size, root, row["rank"]), row
    return size, moved


def least(name, nranks, size, root, rank):
    """What the rank sends or receives, whichever is more."""
    if name in ("broadcast_perf", "reduce_perf"):
        return size
    wanted = expected(name, nranks, size, root)
    return max(wanted.sent[rank], wanted.received[rank])


def check_chain(name, nranks, size, root, moved):
    """Broadcast and reduce: one message over each of n-1 links; which rank is the far end depends on the ring."""
    outward, inward = (moved.sent, moved.received) if name == "broadcast_perf" else (moved.received, moved.sent)
    others = [rank for rank in range(nranks) if rank != root]
    assert outward[root] == size and inward[root] == 0, (name, vars(moved))
    assert all(inward[rank] == size for rank in others), (name, vars(moved))
    assert sorted(outward[rank] for rank in others) == [0] + [size] * (nranks - 2), (name, vars(moved))


def check_windows(name, nranks, size, moved):
    """Where ranks read each other's memory: in all the same, but parts begin on cache lines, so some are a little longer."""
    wanted = expected(name, nranks, size, 0)
    for numbers, least in ((moved.sent, wanted.sent), (moved.received, wanted.received)):
        assert sum(numbers) == sum(least), (name, vars(moved), vars(wanted))
        assert all(abs(number - its) <= 0.01 * its for number, its in zip(numbers, least)), (name, vars(moved))


def check_links(name, nranks, size, root, moved):
    if name in ("broadcast_perf", "reduce_perf"):
        check_chain(name, nranks, size, root, moved)
    else:
        wanted = expected(name, nranks, size, root)
        assert moved == wanted, (name, nranks, size, vars(moved), vars(wanted))


WINDOWS = ("allreduce_perf", "all_gather_perf", "reduce_scatter_perf")
WAYS = (("tcp", {"RONDE_TRANSPORT": "tcp"}), ("shm", {"RONDE_TRANSPORT": "shm", "RONDE_ALGO": "ring"}))


def check_program(folder, name, nranks):
    root = nranks - 1
    for way, settings in WAYS:
        size, moved = measure(folder, name, nranks, root, settings)
        print(f"{name} n={nranks} {way}: {size} bytes, sent {moved.sent}, received {moved.received}", flush=True)
        check_links(name, nranks, size, root, moved)
    if name in WINDOWS:
        size, moved = measure(folder, name, nranks, root, {"RONDE_TRANSPORT": "shm"})
        print(f"{name} n={nranks} windows: {size} bytes, sent {moved.sent}, received {moved.received}", flush=True)
        check_windows(name, nranks, size, moved)


def cell(numbers, size):
    """As multiples of the size, of all ranks or of each."""
    return ", ".join(f"{number / size:.4g}" for number in (numbers[:1] if len(set(numbers)) == 1 else numbers))


def table(folder, nranks=4):
    for program in programs.ALL:
        size, moved = measure(folder, program.name, nranks, 0, {"RONDE_TRANSPORT": "tcp"})
        print(f"| {program.name} | {cell(moved.sent, size)} | {cell(moved.received, size)} |")


def main():
    if "--table" in sys.argv:
        table(sys.argv[1])
        return
    for program in programs.ALL:
        for nranks in (2, 3, 4):
            if not program.takes(nranks):
                continue
            check_program(sys.argv[1], program.name, nranks)


if __name__ == "__main__":
    main()
