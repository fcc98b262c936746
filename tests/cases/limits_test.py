#!/usr/bin/env python3
"""Case 19: low limits of open files and of locked memory; 8 ranks, 4 communicators at a time.

    limits_test.py CYCLES_PROGRAM

A soft limit below the hard one is no error. With a hard limit it works, or the limit, its value and the command that raises
it are named.
"""
import re
import sys

import jobs

NRANKS = 8
LIMIT_S = 60


def run(program, limits):
    """Exit codes and outputs of the ranks."""
    command = ["sh", "-c", f"{limits}\nexec {program} 4 4"]
    print(f"--- {limits}", flush=True)
    codes, texts = zip(*jobs.run_ranks(command, NRANKS, {"RONDE_INIT_TIMEOUT": "5"}, LIMIT_S))
    print(f"exit codes {codes}\n{''.join(texts)}", flush=True)
    return codes, texts


def main():
    program = sys.argv[1]
    codes, texts = run(program, "ulimit -l 64; ulimit -S -n 24")
    assert not any(codes), f"a soft limit below the hard one: {texts}"
    for files in (1024, 64, 48, 32, 16):
        codes, texts = run(program, f"ulimit -l 64; ulimit -n {files}")
        assert files < 1024 or not any(codes), texts
        if not any(codes):
            continue
        named = [text for text in texts if re.search(rf"limit of open files is {files}\b.*ulimit -n", text)]
        assert named, f"the limit of {files} open files and the command that raises it are not named: {texts}"


if __name__ == "__main__":
    main()
