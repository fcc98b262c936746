#!/usr/bin/env python3
"""The thread sanitizer must report a data race in the program with the planted weak order, and nothing in its twin.

usage: weak_publish_test.py --sanitize=LIST PLANTED SOUND

Exits with 77, "skipped", where the programs are built without the thread sanitizer.
"""
import argparse
import subprocess
import sys

SKIPPED = 77
LIMIT_S = 50


def run(program):
    done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
                          check=False)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sanitize", default="")
    parser.add_argument("planted")
    parser.add_argument("sound")
    options = parser.parse_args()
    if "thread" not in options.sanitize.split(","):
        print("skipped: this needs a build with RONDE_SANITIZE=thread")
        return SKIPPED

    code, output = run(options.planted)
    if code == 0 or "data race" not in output:
        print(f"the planted weak order was not found (exit {code}):\n{output}")
        return 1
    code, output = run(options.sound)
    if code != 0 or "ThreadSanitizer" in output:
        print(f"the program without the planted fault is not clean (exit {code}):\n{output}")
        return 1
    print("the planted weak order was found, its twin is clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
