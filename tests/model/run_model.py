#!/usr/bin/env python3
"""Searches a Promela model exhaustively, then plants faults in it, each of which must be found.

usage: run_model.py MODEL.pml [--define NAME=VALUE ...] [--fault NAME ...]

Exit status 0 if the search is complete without an error and every fault is found, 1 if not, 77 if SPIN or a C compiler is
missing.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

MEMORY_LIMIT_MIB = 2000
MAX_DEPTH = 100000
TIMEOUT_S = 300


class Search:
    """What the generated verifier found."""

    def __init__(self, output):
        self.output = output
        errors = re.search(r"errors: (\d+)", output)
        states = re.search(r"([0-9.e+]+) states, stored", output)
        self.errors = int(errors.group(1)) if errors else None
        self.states = int(float(states.group(1))) if states else None
        self.first_error = next((line for line in output.splitlines() if line.startswith("pan:1:")), "")

    def why_incomplete(self):
        """Empty if every state was reached."""
        if self.errors is None or self.states is None:
            return "the search did not end"
        if "Full statespace search" not in self.output:
            return "not a full search"
        for sign in ("Search not completed", "max search depth too small", "out of memory", "hash table full"):
            if sign in self.output:
                return sign
        return ""


def run(command, folder):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=TIMEOUT_S, check=False)
    return done.returncode, done.stdout


def search(model, defines):
    with tempfile.TemporaryDirectory(prefix="ronde-model-") as folder:
        compiler = shutil.which("gcc") or shutil.which("cc")
        for command in (["spin", *(f"-D{define}" for define in defines), "-a", model],
                        [compiler, "-O2", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_LIMIT_MIB}", "-o", "pan",
                         "pan.c"]):
            code, output = run(command, folder)
            if code != 0:
                sys.exit(f"{' '.join(command)} failed:\n{output}")
        return Search(run(["./pan", f"-m{MAX_DEPTH}"], folder)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--fault", action="append", default=[])
    arguments = parser.parse_args()
    for program in ("spin", "gcc"):
        if shutil.which(program) is None and not (program == "gcc" and shutil.which("cc")):
            print(f"skipped: {program} is not installed (Debian packages spin and gcc)")
            return 77

    arguments.model = os.path.abspath(arguments.model)
    failures = 0
    found = search(arguments.model, arguments.define)
    why = found.why_incomplete()
    if why or found.errors != 0:
        failures += 1
        print(f"FAILED: {why or found.first_error}\n{found.output}")
    else:
        print(f"complete: {found.states} states, errors: 0")
    for fault in arguments.fault:
        found = search(arguments.model, [*arguments.define, fault])
        if found.errors:
            print(f"{fault}: found after {found.states} states: {found.first_error}")
        else:
            failures += 1
            print(f"FAILED: {fault} was not found\n{found.output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
