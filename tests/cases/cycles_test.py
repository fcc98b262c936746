#!/usr/bin/env python3
"""Case 8: thousands of communicators, one after the other, leave nothing behind.

    cycles_test.py CYCLES_PROGRAM [NUMBER [GROWTH_KIB]]

Two processes; each time a new id, init, allreduce of one element, destroy. Open files, threads and mappings are equal after
cycle 100 and at the end, resident memory has grown by at most GROWTH_KIB (1 MiB) between them.
"""
import sys

import jobs

NRANKS = 2
AVERAGE_MS = 20.0  # held only where there are so many cycles that the machine's other work evens out


def main():
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    most_growth = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    files_before = jobs.shared_memory_files()
    settings = {"RONDE_INIT_TIMEOUT": "60"}
    for rank, (code, text) in enumerate(jobs.run_ranks([sys.argv[1], str(number)], NRANKS, settings, 60 + number * 0.2)):
        assert code == 0, text
        first, last = [[float(word) for word in line.split()] for line in text.splitlines()[-2:]]
        names = ("open files", "threads", "mappings")
        for name, before, after in zip(names, first[1:4], last[1:4]):
            if name == "mappings" and most_growth > 1024:
                continue  # sanitizers map what they keep
            assert after == before, f"rank {rank}: {name}: {before:.0f} after 100 cycles, {after:.0f} at the end"
        grown = last[4] - first[4]
        average = 1000 * (last[5] - first[5]) / (last[0] - first[0])
        print(f"rank {rank}: {number} communicators, {average:.2f} ms each; resident memory has grown by {grown:.0f} KiB; "
              f"{last[1]:.0f} open files, {last[2]:.0f} threads, {last[3]:.0f} mappings", flush=True)
        assert grown <= most_growth, f"rank {rank} has grown by {grown:.0f} KiB"
        assert number < 5000 or average <= AVERAGE_MS, f"{average:.2f} ms a cycle"
    new = {name for name in jobs.shared_memory_files() - files_before if "ronde" in name}
    assert not new, f"left in /dev/shm: {new}"


if __name__ == "__main__":
    main()
