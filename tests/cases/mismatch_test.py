#!/usr/bin/env python3
"""Case 25, and all other ways to differ: one rank calls something else than the others. All ranks must hear within 2 s
what each of them called.

    mismatch_test.py MISMATCH_RANK [NRANKS ...]    default: 2 4 8

Another count (also one that another algorithm takes), type, reduction, order; the odd rank is the first, one in the middle,
the last; over shm and tcp.
"""
import sys

import jobs

LIMIT_S = 2.0
MISMATCH = "102"
KINDS = 8
# What the even ranks call, and the odd one, as a message has it.
LONG = 300000
TEXTS = {
    "count": ("float32, sum, 1000 elements", "float32, sum, 1001 elements"),
    "short and long": ("float32, sum, 4 elements", f"float32, sum, {LONG} elements"),
    "long and short": (f"float32, sum, {LONG} elements", "float32, sum, 1000 elements"),
    "none and some": ("float32, sum, 0 elements", f"float32, sum, {LONG} elements"),
    "type": ("float32, sum, 1000 elements", "int32, sum, 1000 elements"),
    "size of the type": (f"float32, sum, {LONG} elements", f"float64, sum, {LONG} elements"),
    "reduction": (f"float32, sum, {LONG} elements", f"float32, max, {LONG} elements"),
    "order": ("float32, sum, 1000 elements", f"float32, sum, {LONG} elements"),
}


def check(nranks, transport, rank, line):
    kind, odd, seconds, code, text = line.split("\t")
    what = f"{nranks} ranks, {transport}, {kind}, rank {odd} is odd: rank {rank}: {line}"
    even_text, odd_text = TEXTS[kind]
    assert code == MISMATCH, what
    assert float(seconds) <= LIMIT_S, what
    parts = {part.split(": ", 1)[0]: part for part in text.split(": ", 1)[1].replace(". All must", ";").split("; ")}
    assert odd_text in parts.get(f"rank {odd}", ""), what
    assert any(even_text in part for who, part in parts.items() if who != f"rank {odd}"), what
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
