#!/usr/bin/env python3
"""With RONDE_REPRODUCIBLE=1 a reduction has the same bits whatever way it goes.

    reproducible_test.py HASHES RONDERUN [REPEATS]     default: 2

HASHES (hashes.cc) makes the same reductions by all-reduce, reduce and reduce-scatter, in one call, in several and in
groups, again and again. Here that is done by each algorithm and transport with four ranks on one host, with 2 + 2 and
3 + 1 on two hosts: there must be one hash for each type and reduction. Without the setting there are several, else this
would prove nothing.
"""
import sys

from host_jobs import Launcher
from namespaces import Hosts, need_namespaces

WAYS = (
    ([4], {}),
    ([4], {"RONDE_ALGO": "ring"}),
    ([4], {"RONDE_ALGO": "one_shot"}),
    ([4], {"RONDE_ALGO": "two_shot"}),
    ([4], {"RONDE_ALGO": "star"}),
    ([4], {"RONDE_TRANSPORT": "tcp"}),
    ([4], {"RONDE_TRANSPORT": "tcp", "RONDE_ALGO": "star"}),
    ([4], {"RONDE_TRANSPORT": "tcp", "RONDE_TCP_CONNECTIONS": "3"}),
    ([2, 2], {}),
    ([2, 2], {"RONDE_ALGO": "ring"}),
    ([2, 2], {"RONDE_ALGO": "star"}),
    ([2, 2], {"RONDE_TRANSPORT": "tcp"}),
    ([3, 1], {}),
    ([3, 1], {"RONDE_ALGO": "star"}),
    ([1, 3], {"RONDE_ACCUMULATE": "float32"}),
)
CONTROL = (([4], {"RONDE_ALGO": "two_shot"}), ([4], {"RONDE_ALGO": "ring"}))
TYPES = ("float32", "float16", "bfloat16", "float64")
OPS = ("sum", "avg", "prod", "premulsum")


def hashes(launcher, program, repeats, slots, settings):
    """{"float32 sum": all hashes that any rank has seen}"""
    done = launcher.run(slots, [repeats], program=[program], timeout=600, **settings)
    assert (done.returncode, done.stderr) == (0, ""), f"exit code {done.returncode}"
    found = {f"{name} {op}": set() for name in TYPES for op in OPS}
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(found) * sum(slots), f"{len(lines)} lines"
    for name, op, *seen in lines:
        found[f"{name} {op}"].update(seen)
    return found


def main():
    need_namespaces()
    program, ronderun = sys.argv[1:3]
    repeats = sys.argv[3] if len(sys.argv) > 3 else "2"
    with Hosts(2) as hosts, Launcher(hosts, (program, ronderun)) as launcher:
        right = None
        for slots, settings in WAYS:
            found = hashes(launcher, program, repeats, slots, {**settings, "RONDE_REPRODUCIBLE": "1"})
            right = right or found
            for what, seen in found.items():
                assert len(seen) == 1, f"{what} has {len(seen)} results by {slots} {settings}"
                assert seen == right[what], f"{what} has another result by {slots} {settings} than by {WAYS[0]}"
        free = [hashes(launcher, program, "1", slots, settings) for slots, settings in CONTROL]
        for what in free[0]:
            assert len(free[0][what] | free[1][what]) > 1, f"{what} has one result without the setting, too"
        print(f"{len(right)} reductions, {len(WAYS)} ways, {repeats} repeats: one result each", flush=True)


if __name__ == "__main__":
    main()
