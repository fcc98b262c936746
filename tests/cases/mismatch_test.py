#!/usr/bin/env python3
"""Case 25, and all other ways to differ: one rank calls something else than the others. All ranks must hear within 2 s
what each of them called.

    mismatch_test.py MISMATCH_RANK [NRANKS ...]    default: 2 4 8

Another count (also one that another algorithm takes), type, reduction, order, root, collective, other blocks; the odd rank
is the first, one in the middle, the last; over shm and tcp.
"""
import sys

import jobs

LIMIT_S = 2.0
MISMATCH = "102"
LONG = 300000
BLOCK = 30000
OTHER_COUNTS = ", with other counts"  # of calls that read the same


def all_reduce(count, kind="float32, sum"):
    return f"AllReduce ({kind}, {count} element{'' if count == 1 else 's'})"


def rooted(name, count, root, kind="float32"):
    of = " a rank" if name in ("Gather", "Scatter") else ""
    return f"{name} ({kind}, root {root}, {count} elements{of})"


def blocks(name, count, kind="float32"):
    return f"{name} ({kind}, {count} elements a rank)"


def uneven(count):
    return f"AllGatherV (float32, {count} elements in all)"


def texts(nranks):
    """What the even ranks call, and the odd one, as a message has it."""
    return {
        "count": (all_reduce(1000), all_reduce(1001)),
        "short and long": (all_reduce(4), all_reduce(LONG)),
        "long and short": (all_reduce(LONG), all_reduce(1000)),
        "none and some": (all_reduce(0), all_reduce(LONG)),
        "type": (all_reduce(1000), all_reduce(1000, "int32, sum")),
        "size of the type": (all_reduce(LONG), all_reduce(LONG, "float64, sum")),
        "reduction": (all_reduce(LONG), all_reduce(LONG, "float32, max")),
        "order": (all_reduce(1000), all_reduce(LONG)),
        "root of a broadcast": (rooted("Broadcast", 1000, 0), rooted("Broadcast", 1000, 1)),
        "root of a long broadcast": (rooted("Broadcast", LONG, 1), rooted("Broadcast", LONG, 0)),
        "root of a reduce": (rooted("Reduce", 1000, 0, "float32, sum"), rooted("Reduce", 1000, 1, "float32, sum")),
        "root of a gather": (rooted("Gather", 1000, 0), rooted("Gather", 1000, 1)),
        "root of a scatter": (rooted("Scatter", BLOCK, 1), rooted("Scatter", BLOCK, 0)),
        "all-reduce and broadcast": (all_reduce(1000), rooted("Broadcast", 1000, 0)),
        "all-reduce and barrier": (all_reduce(1), "Barrier"),
        "barrier and all-reduce": ("Barrier", all_reduce(LONG)),
        "all-gather and reduce-scatter": (blocks("AllGather", 1000), blocks("ReduceScatter", 1000, "float32, sum")),
        "all-to-all and all-gather": (blocks("AlltoAll", BLOCK), blocks("AllGather", BLOCK)),
        "gather and scatter": (rooted("Gather", 1000, 0), rooted("Scatter", 1000, 0)),
        "count of an all-gather": (blocks("AllGather", 1000), blocks("AllGather", 1001)),
        "count of a long all-gather": (blocks("AllGather", BLOCK), blocks("AllGather", BLOCK - 1)),
        "count of an uneven all-gather": (uneven(1000 * nranks), uneven(1000 * nranks + 1)),
        "blocks of an uneven all-gather": (uneven(1000 * nranks), uneven(1000 * nranks)),
        "even and uneven": (blocks("AllGather", BLOCK), uneven(BLOCK * nranks)),
    }


KINDS = len(texts(2))


def check(nranks, transport, rank, line):
    kind, odd, seconds, code, text = line.split("\t")
    what = f"{nranks} ranks, {transport}, {kind}, rank {odd} is odd: rank {rank}: {line}"
    even_text, odd_text = texts(nranks)[kind]
    assert code == MISMATCH, what
    assert float(seconds) <= LIMIT_S, what
    parts = {part.split(": ", 1)[0]: part for part in text.split(": ", 1)[1].replace(". All must", ";").split("; ")}
    assert odd_text in parts.get(f"rank {odd}", ""), what
    assert any(even_text in part for who, part in parts.items() if who != f"rank {odd}"), what
    assert (OTHER_COUNTS in text) == (even_text == odd_text), what
    return float(seconds)


def run(program, nranks, transport):
    settings = {"RONDE_TRANSPORT": transport, "RONDE_INIT_TIMEOUT": "30"}
    seconds = []
    for rank, (code, text) in enumerate(jobs.run_ranks([program], nranks, settings, 120)):
        lines = text.splitlines()
        assert code == 0 and len(lines) == 3 * KINDS, f"{nranks} ranks, {transport}, rank {rank}: code {code}: {text}"
        seconds += [check(nranks, transport, rank, line) for line in lines]
    print(f"{nranks} ranks, {transport}: {3 * KINDS} differences heard by all after at most {max(seconds):.2f} s",
          flush=True)


def main():
    sizes = [int(size) for size in sys.argv[2:]] or [2, 4, 8]
    for nranks in sizes:
        for transport in ("shm", "tcp"):
            run(sys.argv[1], nranks, transport)


if __name__ == "__main__":
    main()
