#!/usr/bin/env python3
"""Star (a parameter server's traffic) against ring, between hosts whose links are held to a rate.

usage: star_and_ring.py [--bin FOLDER] [--ranks 2,4,8,16] [--size 16M] [--rate 1gbit] [--rounds 3] [--json FILE]

Makes one network namespace for each rank, joined by a switch, both directions of each link held to the rate by tbf, and
runs allreduce_perf over tcp with RONDE_ALGO=star and RONDE_ALGO=ring in turn. Prints the median time of each, and the
bytes that the busiest link carried in one direction in one operation. Needs root. Exit code 1 if a result or the number
of bytes is wrong; times are only reported.
"""
import argparse
import json
import os
import statistics
import sys

from host_jobs import Launcher
from namespaces import Hosts, need_namespaces

ALGORITHMS = ("star", "ring")


def bytes_of(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1].upper()] if text[-1].upper() in units else int(text)


def bits_per_second(text):
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError(f"--rate '{text}': write it as 1gbit or 100mbit")


def busiest(report):
    """The most bytes that one rank sent or received in one operation, heads left out."""
    return max(max(row["sent"], row["received"]) for row in report["counters"])


def expected_busiest(algorithm, nranks, size):
    """Of the star: the server takes in n - 1 arrays. Of the ring: 2(n-1)/n arrays, up to an uneven end."""
    return (nranks - 1) * size if algorithm == "star" else 2 * (nranks - 1) * size / nranks


def check_bytes(algorithm, nranks, size, found):
    expected = expected_busiest(algorithm, nranks, size)
    assert abs(found - expected) <= 0.01 * expected, f"{algorithm}, {nranks} ranks: {found} bytes, not {expected:.0f}"


def measure(launcher, nranks, algorithm, options):
    report = launcher.measure([1] * nranks,
                              ["-b", options.size, "-e", options.size, "-n", "2", "-w", "1", "--counters"],
                              timeout=300, RONDE_ALGO=algorithm, RONDE_TRANSPORT="tcp")
    size = report["results"][0]["size"]
    check_bytes(algorithm, nranks, size, busiest(report))
    return report["results"][0]["out_of_place"]["time"] / 1000, busiest(report)


def run(nranks, options, programs):
    """{algorithm: (milliseconds of each round, bytes of the busiest link)}"""
    times = {algorithm: [] for algorithm in ALGORITHMS}
    load = {}
    with Hosts(nranks, "4", rate=options.rate, switch=True) as hosts, Launcher(hosts, programs) as launcher:
        for _ in range(options.rounds):
            for algorithm in ALGORITHMS:
                milliseconds, load[algorithm] = measure(launcher, nranks, algorithm, options)
                times[algorithm].append(milliseconds)
    return {algorithm: (times[algorithm], load[algorithm]) for algorithm in ALGORITHMS}


def print_table(results, options):
    per_ms = bits_per_second(options.rate) / 8 / 1000
    print(f"\nallreduce of {options.size}, float32 sum, one rank a host, each link {options.rate} each way, "
          f"median of {options.rounds}")
    print("| ranks | star, ms | ring, ms | star / ring | star, MiB on the busiest link | ring, MiB | "
          "least time by bytes, star / ring, ms |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for nranks, result in results.items():
        star, ring = (statistics.median(result[algorithm][0]) for algorithm in ALGORITHMS)
        star_bytes, ring_bytes = (result[algorithm][1] for algorithm in ALGORITHMS)
        print(f"| {nranks} | {star:.1f} | {ring:.1f} | {star / ring:.2f} | {star_bytes / 2**20:.1f} | "
              f"{ring_bytes / 2**20:.1f} | {star_bytes / per_ms:.0f} / {ring_bytes / per_ms:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of allreduce_perf and ronderun")
    parser.add_argument("--ranks", default="2,4,8,16")
    parser.add_argument("--size", default="16M")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the times to this file")
    options = parser.parse_args()
    need_namespaces()
    bits_per_second(options.rate)
    programs = [os.path.abspath(os.path.join(options.bin, name)) for name in ("allreduce_perf", "ronderun")]
    results = {int(nranks): run(int(nranks), options, programs) for nranks in options.ranks.split(",")}
    print_table(results, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    sys.exit(main())
