#!/usr/bin/env python3
"""Ranks die, the others go on without them, and new processes take their places, several times.

    regrow_test.py REGROW MOST_GROWTH_KIB [ROUNDS [NRANKS [TRANSPORT]]]    default: 6 rounds, 8 ranks, auto and tcp

Processes over shared memory and TCP, whose communicator is split into rows and columns in each round. In each round
one rank is killed; all others shrink, and grow by a new process. Results are right in each communicator, and no rank
has more open files, threads and memory (by more than MOST_GROWTH_KIB) at the end than two rounds after it has joined.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import jobs

LIMIT_S = 60
KEPT_BLACK_BOXES = 4  # of processes that have ended, too: two descriptors each are room for two more
ROUNDS_TO_SETTLE = 2


class Rank:
    """A process; round_ is the one in which it has joined."""

    def __init__(self, process, path, round_):
        self.process = process
        self.path = path
        self.settled_in = round_ + ROUNDS_TO_SETTLE
        self.number = None
        self.used = []  # each round's uses, from settled_in on

    def has_reached(self, round_):
        with open(self.path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                at, rank, nranks = (int(word) for word in line.split())
                if at == round_:
                    self.number = (rank, nranks)
                    return True
        assert self.process.poll() is None, f"a rank has ended with {self.process.returncode} before round {round_}"
        return False

    def note_uses(self, round_):
        if round_ < self.settled_in:
            return
        folder = f"/proc/{self.process.pid}"
        with open(folder + "/status", encoding="utf-8") as file:
            resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
        self.used.append((len(os.listdir(folder + "/fd")), len(os.listdir(folder + "/task")), resident))

    def check_uses(self, most_growth_kib):
        names = ("open files", "threads", "resident KiB")
        most_more = (KEPT_BLACK_BOXES, 0, most_growth_kib)
        for name, before, after, more in zip(names, self.used[0], self.used[-1], most_more):
            assert after <= before + more, (f"{name} of rank {self.number[0]}: {before} in round {self.settled_in}, "
                                            f"{after} {len(self.used) - 1} rounds later; all: {self.used}")


def wait_for(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S} s: {what}"
        time.sleep(0.005)


def play(program, most_growth_kib, transport, rounds, nranks, folder):
    settings = {"RONDE_TRANSPORT": transport, "RONDE_INIT_TIMEOUT": "40"}
    files = []

    def output(_):
        path = os.path.join(folder, f"out{len(files)}")
        files.append(open(path, "w", encoding="utf-8"))
        return files[-1], None

    started = jobs.start_ranks([program, folder, str(rounds)], nranks, settings, output)
    ranks = [Rank(process, files[i].name, 0) for i, process in enumerate(started)]
    everybody = list(ranks)
    try:
        wait_for(lambda: all(rank.has_reached(0) for rank in ranks), "the first communicator")
        begun = time.monotonic()
        for round_ in range(1, rounds + 1):
            victim = ranks.pop({0: nranks - 1, 1: 1, 2: nranks // 2}[round_ % 3])
            victim.process.send_signal(signal.SIGKILL)
            victim.process.wait()
            wait_for(lambda: os.path.exists(os.path.join(folder, str(round_))), f"the id of round {round_}")
            out, _ = output(None)
            joins = subprocess.Popen([program, folder, str(rounds), str(nranks), str(round_)], stdin=subprocess.DEVNULL,
                                     env=jobs.environment(**settings), stdout=out)
            ranks.append(Rank(joins, out.name, round_))
            everybody.append(ranks[-1])
            wait_for(lambda: all(rank.has_reached(round_) for rank in ranks), f"round {round_}")
            assert sorted(rank.number for rank in ranks) == [(i, nranks) for i in range(nranks)]
            if round_ == rounds:
                break  # they end
            for rank in ranks:
                rank.note_uses(round_)
        late = jobs.wait_all([rank.process for rank in ranks], LIMIT_S)
        assert not late, f"ranks {late} hang"
        assert all(rank.process.returncode == 0 for rank in ranks), [rank.process.returncode for rank in ranks]
        measured = [rank for rank in ranks if rank.used]
        for rank in measured:
            rank.check_uses(most_growth_kib)
        print(f"{transport}: {rounds} rounds of {nranks} ranks, {(time.monotonic() - begun) / rounds:.2f} s each; "
              f"{len(measured)} ranks measured; files, threads, KiB of the first: {ranks[0].used[0]}, "
              f"{ranks[0].used[-1]}", flush=True)
    finally:
        jobs.kill_all([rank.process for rank in everybody])
        for file in files:
            file.close()


def main():
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    nranks = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    for transport in sys.argv[5:] or ("auto", "tcp"):
        with tempfile.TemporaryDirectory() as folder:
            play(sys.argv[1], int(sys.argv[2]), transport, rounds, nranks, folder)


if __name__ == "__main__":
    main()
