#!/usr/bin/env python3
"""Configures and builds the project in tests/cross/aarch64, and runs all its programs under qemu-aarch64.

usage: aarch64_test.py [--cmake=PROGRAM] [--ctest=PROGRAM] [--generator=NAME] [--werror=ON] BUILD_FOLDER

Exits with 77, "skipped", where the cross compiler or the emulator is missing. The build takes all CPUs, or as many as
CMAKE_BUILD_PARALLEL_LEVEL says.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
PROJECT = pathlib.Path(__file__).resolve().parent / "aarch64"
NEEDED = (("aarch64-linux-gnu-gcc",), ("aarch64-linux-gnu-g++",), ("qemu-aarch64", "qemu-aarch64-static"))
# Flags that are meant for the machine that builds.
NOT_FOR_THE_TARGET = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CC", "CXX")
SUMMARY = re.compile(r"All tests passed \((\d+) assertions? in (\d+) test cases?\)")


def step(what, command):
    """Runs it; returns its output, or None after printing what it said."""
    begin = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if name not in NOT_FOR_THE_TARGET}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, env=environment, check=False)
    print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)
    if done.returncode != 0:
        print(f"{done.stdout}\n{what} failed (exit {done.returncode}): {' '.join(map(str, command))}")
        return None
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--ctest", default="ctest")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--werror", default="OFF")
    parser.add_argument("build")
    options = parser.parse_args()

    missing = [names[0] for names in NEEDED if not any(map(shutil.which, names))]
    if missing:
        print(f"skipped: {', '.join(missing)} missing; tools/packages.sh cross installs them")
        return SKIPPED

    configure = [options.cmake, "-S", PROJECT, "-B", options.build, "-G", options.generator,
                 f"-DCMAKE_TOOLCHAIN_FILE={PROJECT / 'toolchain.cmake'}", f"-DRONDE_WERROR={options.werror}"]
    build = [options.cmake, "--build", options.build]
    if "CMAKE_BUILD_PARALLEL_LEVEL" not in os.environ:
        build += ["--parallel", str(len(os.sched_getaffinity(0)))]
    if step("configure", configure) is None or step("build", build) is None:
        return 1
    output = step("run", [options.ctest, "--test-dir", options.build, "--verbose", "--no-tests=error"])
    if output is None:
        return 1
    summaries = SUMMARY.findall(output)
    cases = sum(int(cases) for _, cases in summaries)
    print(f"{len(summaries)} programs, {cases} test cases passed")
    return 0 if cases > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
