#!/usr/bin/env python3
"""Compares Ronde with other libraries, in turn: ronde, openmpi, mpich, ronde, openmpi, ... for each size.

usage: compare.py [--bin FOLDER] [--ranks 2,4] [--sizes 8,4K,1M,16M,128M] [--rounds 5] [--rewrite] [--json FILE]
                  [--peers ronde,openmpi,mpich] [--seconds 0.4] [--check]

Prints, for each number of ranks, medians in microseconds and the ratio of Ronde's to the best peer's, and the same
apart for runs in which two processors were near each other and far from each other. README.md says how to read it.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

NEAR_NS, FAR_NS = 110, 180  # one way; between them, or different before and after: mixed
FOREIGN_CPUS = 0.15         # above it other programs were in the way
MPI_QUIET = {"OMPI_MCA_btl_base_warn_component_unused": "0", "OMPI_MCA_orte_base_help_aggregate": "1"}


def goal(nranks, size):
    """What Ronde's time may be, as a multiple of the best peer's. None: no goal was set."""
    if size >= 1 << 20:
        return 1.3
    if size <= 4096:
        return 1.5 if nranks == 2 else 2.0
    return None


def size_of(text):
    units = {"K": 10, "M": 20}
    return int(text[:-1]) << units[text[-1].upper()] if text[-1].upper() in units else int(text)


def size_text(size):
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def command_of(peer, nranks, folder):
    program = os.path.join(folder, f"bench_{peer}")
    if peer == "ronde":
        return [program, "-n", str(nranks)]
    if peer == "openmpi":
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return ["mpirun.openmpi", *as_root, "--oversubscribe", "-n", str(nranks), program]
    return [f"mpiexec.{peer}", "-n", str(nranks), program]


def environment():
    """Without what a launcher around this script may have left."""
    left = ("OMPI_", "PMI", "PMIX", "SLURM_")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(left)}, **MPI_QUIET}


def run(peer, nranks, size, options):
    """One run: what the program printed, as a dictionary; "error" is in it if it failed."""
    with tempfile.NamedTemporaryFile(prefix="ronde-probe-") as probe:
        command = command_of(peer, nranks, options.bin) + ["--name", peer, "--sizes", str(size), "--seconds",
                                                           str(options.seconds), "--probe", probe.name]
        command += ["--rewrite"] if options.rewrite else []
        try:
            done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=options.timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"peer": peer, "nranks": nranks, "bytes": size, "error": f"no end within {options.timeout} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != 1:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        return {"peer": peer, "nranks": nranks, "bytes": size, "error": f"exit code {done.returncode}: {words}"}
    return json.loads(lines[0])


def mode(result):
    before, after = result["probe_ns"]
    if 0 < max(before, after) < NEAR_NS:
        return "near"
    return "far" if min(before, after) > FAR_NS else "mixed"


def microseconds(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


class Table:
    """All runs with one number of ranks."""

    def __init__(self, nranks, peers, runs):
        self.nranks = nranks
        self.peers = peers
        self.runs = [one for one in runs if one["nranks"] == nranks]
        self.sizes = sorted({one["bytes"] for one in self.runs})
        self.missed = []

    def median(self, peer, size, wanted):
        times = [one["us"] for one in self.runs if (one["peer"], one["bytes"]) == (peer, size) and "error" not in one
                 and (wanted == "all" or mode(one) == wanted)]
        return (statistics.median(times) if times else None), len(times)

    def row(self, size, wanted):
        cells, times, counts = [], {}, []
        for peer in self.peers:
            times[peer], count = self.median(peer, size, wanted)
            counts.append(str(count))
            cells.append(microseconds(times[peer]))
        others = [time for peer, time in times.items() if peer != "ronde" and time is not None]
        if times.get("ronde") is None or not others:
            return None if wanted != "all" else [size_text(size), wanted, *cells, "-", "-", " ".join(counts)]
        ratio = times["ronde"] / min(others)
        limit = goal(self.nranks, size)
        if wanted == "all" and limit is not None and ratio > limit:
            self.missed.append(f"{self.nranks} ranks, {size_text(size)}: {ratio:.2f}, goal {limit}")
        return [size_text(size), wanted, *cells, f"{ratio:.2f}", "-" if limit is None else f"<= {limit}",
                " ".join(counts)]

    def print(self):
        print(f"\n{self.nranks} ranks; microseconds, median of the runs")
        header = ["size", "processors", *self.peers, "ronde / best peer", "goal", "runs"]
        print("| " + " | ".join(header) + " |\n|" + "---:|" * len(header))
        for size in self.sizes:
            for wanted in ("all", "near", "far"):
                row = self.row(size, wanted)
                if row is not None:
                    print("| " + " | ".join(row) + " |")
        self.print_doubts()

    def print_doubts(self):
        for one in self.runs:
            name = f"{one['peer']}, {size_text(one['bytes'])}"
            if "error" in one:
                print(f"FAILED {name}: {one['error']}")
            elif one["wrong"] > 0:
                print(f"WRONG {name}: {one['wrong']} elements")
        disturbed = sum(one.get("foreign_cpus", 0) > FOREIGN_CPUS for one in self.runs)
        if disturbed:
            print(f"{disturbed} of {len(self.runs)} runs were disturbed: other programs used more than {FOREIGN_CPUS} "
                  f"processors meanwhile")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin", help="folder of bench_ronde and the others")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--sizes", default="8,4K,1M,16M,128M", help="bytes; K and M are binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default="ronde,openmpi,mpich", help="in this order within each round")
    parser.add_argument("--seconds", type=float, default=0.4, help="timed part of each run, at least")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a run may take")
    parser.add_argument("--rewrite", action="store_true", help="rewrite the inputs before every operation")
    parser.add_argument("--json", help="also write all runs to this file")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a goal is missed")
    return parser.parse_args()


def main():
    options = parse_arguments()
    peers = options.peers.split(",")
    missing = [peer for peer in peers if not os.path.exists(os.path.join(options.bin, f"bench_{peer}"))]
    if missing:
        sys.exit(f"compare.py: {options.bin} has no bench_{missing[0]}; configure with -DRONDE_BUILD_PEERS=ON, or leave "
                 f"it out with --peers")
    numbers = [int(text) for text in options.ranks.split(",")]
    sizes = [size_of(text) for text in options.sizes.split(",")]
    runs = []
    for nranks in numbers:
        for size in sizes:
            for number in range(options.rounds):
                for peer in peers:
                    runs.append({**run(peer, nranks, size, options), "round": number, "at": time.time()})
                    print(f"\r{nranks} ranks, {size_text(size)}, round {number + 1}, {peer}    ", end="",
                          file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    tables = [Table(nranks, peers, runs) for nranks in numbers]
    for table in tables:
        table.print()
    missed = [one for table in tables for one in table.missed]
    print("\nmissed goals: " + ("; ".join(missed) if missed else "none"))
    if options.json:
        machine = {"host": platform.node(), "kernel": platform.release(), "processors": os.cpu_count()}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"command": sys.argv, "machine": machine, "runs": runs}, file, indent=1)
    failed = any("error" in one or one["wrong"] > 0 for one in runs)
    return 1 if failed or (options.check and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
