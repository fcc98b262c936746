#!/usr/bin/env python3
"""Case 11: kills one rank of a job at a random moment, again and again; the others must hear of it, agree on who is left,
and go on with a smaller communicator.

    kill_matrix.py SURVIVOR RONDE_STATUS [NUMBER [SEED]]

Goes round over 4 and 8 ranks, shm and tcp, without and with two sleeping children of each rank. Most ranks are killed
inside an operation (the killer stops the rank and looks at its black box first), a fifth in start-up or while they destroy
the communicator; of some jobs a second one once the first survivor has noticed, which is while the ranks agree on who is
left, start the new communicator, or have just begun to use it. Only processes of the jobs are killed. A death during
start-up ends the start on all ranks; one during destroy ends nothing, or is an error that names the rank.
"""
import collections
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import jobs

LIMIT_S = 20         # all must have ended by then
DETECTION_S = 2.0    # from the kill to the error on every survivor
SHRUNK_S = 5.0       # from the kill to the first right result of the smaller communicator
PERIOD_S = 1.0       # a rank is killed within this time after all are ready
SECOND_S = 0.02      # at most so long after the first survivor has noticed the second one is killed
AGAIN = ("6", "100")  # rondeRemoteError, rondePeerLost: how a shrink fails when another rank dies
OPERATIONS = "300"   # before a job destroys its communicator, where that is the moment
WAYS = list(itertools.product((4, 8), ("shm", "tcp"), (0, 2)))

Kill = collections.namedtuple("Kill", "way phase in_operation detection shrunk")


class Job:
    """The ranks of one job, each with its output in a file."""

    def __init__(self, program, way, phase, folder, mark):
        self.nranks, transport, children = way
        self.folder = folder
        self.mark = mark
        self.files = []
        settings = {"RONDE_TRANSPORT": transport, "RONDE_INIT_TIMEOUT": "10", jobs.MARK: mark}
        command = [program, str(children), OPERATIONS if phase == "destroy" else "0", "2" if phase == "twice" else "1"]
        self.processes = jobs.start_ranks(command, self.nranks, settings, self.output)

    def output(self, rank):
        files = [open(os.path.join(self.folder, f"{rank}.{name}"), "wb") for name in ("out", "err")]
        self.files += files
        return files

    def lines(self, rank):
        """{word: (seconds, rest)} of what the rank has said so far."""
        with open(os.path.join(self.folder, f"{rank}.out"), encoding="utf-8", errors="replace") as file:
            parts = [line.rstrip("\n").split(" ", 2) for line in file if line.endswith("\n")]
        return {part[0]: (float(part[1]), part[2]) for part in parts if len(part) == 3}

    def wait_for_all(self, word):
        deadline = time.monotonic() + LIMIT_S
        while not all(word in self.lines(rank) for rank in range(self.nranks)):
            assert time.monotonic() < deadline, f"not all ranks are {word}: {self.text()}"
            time.sleep(0.005)

    def text(self):
        parts = []
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                parts.append(f"--- {name}\n{file.read()}")
        return "".join(parts)

    def close(self):
        jobs.kill_marked(self.mark)
        jobs.kill_all(self.processes)
        for file in self.files:
            file.close()


def is_in_operation(status, pid):
    """By the black box of a process that is stopped."""
    found = json.loads(subprocess.run([status, "--json"], stdout=subprocess.PIPE, check=True).stdout)
    ranks = [rank for communicator in found["communicators"] for rank in communicator["ranks"] if rank["pid"] == pid]
    return any(operation["state"] == "running" for rank in ranks for operation in rank["operations"])


def kill_in_time(job, victim, phase, status, chance):
    """Returns whether the rank was in an operation, and when it was killed."""
    process = job.processes[victim]
    if phase == "start-up":
        time.sleep(chance.uniform(0, 0.1))
    elif phase == "destroy":
        deadline = time.monotonic() + LIMIT_S
        while "destroys" not in job.lines(victim) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.003))
    else:
        job.wait_for_all("ready")
        time.sleep(chance.uniform(0, PERIOD_S))
        process.send_signal(signal.SIGSTOP)
    in_operation = phase in ("operation", "twice") and is_in_operation(status, process.pid)
    killed = time.monotonic()
    process.kill()
    return in_operation, killed


def kill_second(job, first, second, chance):
    """Returns when."""
    others = [rank for rank in range(job.nranks) if rank not in (first, second)]
    deadline = time.monotonic() + LIMIT_S
    while not any("failed" in job.lines(rank) for rank in others):
        assert time.monotonic() < deadline, "nobody has noticed the first death"
    time.sleep(chance.uniform(0, SECOND_S))
    killed = time.monotonic()
    job.processes[second].kill()
    return killed


def check_start_up(job, survivors, victim):
    """Each has failed, or gone on: the kill may have come after the start."""
    for rank in survivors:
        lines = job.lines(rank)
        assert "ended" in lines or "init-failed" in lines, f"rank {rank} says neither"
        if "init-failed" in lines:
            assert job.processes[rank].returncode == 3
        elif "failed" in lines:
            assert f"rank {victim}" in lines["failed"][1], f"rank {rank} names another: {lines['failed'][1]}"


def check_shrunk(job, survivors, victim, killed):
    detections, shrunk = [], []
    for rank in survivors:
        lines = job.lines(rank)
        assert "failed" in lines, f"rank {rank} has not noticed"
        assert f"rank {victim} " in lines["failed"][1], f"rank {rank} names another: {lines['failed'][1]}"
        assert lines["lost"][1].split() == [str(victim)], f"rank {rank} counts as lost: {lines['lost'][1]}"
        assert lines.get("shrunk", (0, ""))[1] == str(len(survivors)), f"rank {rank} has not shrunk"
        assert "ended" in lines and job.processes[rank].returncode == 0, f"rank {rank} has not ended well"
        detections.append(lines["failed"][0] - killed)
        shrunk.append(lines["shrunk"][0] - killed)
    assert max(detections) <= DETECTION_S, f"noticed after {max(detections):.3f} s"
    assert max(shrunk) <= SHRUNK_S, f"shrunk after {max(shrunk):.3f} s"
    return max(detections), max(shrunk)


def check_twice(job, survivors, second, killed):
    """However far the first shrink had come, all have ended up in one communicator."""
    for rank in survivors:
        lines = job.lines(rank)
        assert "ended" in lines and job.processes[rank].returncode == 0, f"rank {rank} has not ended well"
        number = lines.get("shrunk", (0, "none"))[1]
        assert number == str(len(survivors)), f"rank {rank} goes on as one of {number}"
        if "again" in lines:
            text = lines["again"][1]
            assert f"rank {second} " in text and text.split()[0] in AGAIN, f"rank {rank} calls again after: {text}"
    shrunk = max(job.lines(rank)["shrunk"][0] for rank in survivors) - killed
    assert shrunk <= SHRUNK_S, f"shrunk after {shrunk:.3f} s"


def check_destroy(job, survivors, victim):
    """Who had ended all operations has ended well; who had not names the rank (and has shrunk)."""
    for rank in survivors:
        lines = job.lines(rank)
        assert job.processes[rank].returncode == 0 and "ended" in lines, f"rank {rank} has not ended well"
        if "failed" in lines:
            assert f"rank {victim} " in lines["failed"][1], f"rank {rank} names another: {lines['failed'][1]}"


def kill_one(program, status, way, phase, number, chance):
    mark = f"{os.getpid()}-{number}"
    victim, second = chance.sample(range(way[0]), 2)
    if chance.random() < 0.5:
        second = min({0, 1} - {victim})  # in whose process the others meet
    dead = (victim, second) if phase == "twice" else (victim,)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(program, way, phase, folder, mark)
        try:
            in_operation, killed = kill_in_time(job, victim, phase, status, chance)
            if phase == "twice":
                killed = kill_second(job, victim, second, chance)
            late = jobs.wait_all(job.processes, LIMIT_S)
            assert not late, f"ranks {late} hang"
            codes = [process.returncode for process in job.processes]
            assert 4 not in codes, "wrong data"
            survivors = [rank for rank in range(way[0]) if rank not in dead]
            times = (None, None)
            if phase == "operation":
                times = check_shrunk(job, survivors, victim, killed)
            elif phase == "twice":
                check_twice(job, survivors, second, killed)
            elif phase == "start-up":
                check_start_up(job, survivors, victim)
            else:
                check_destroy(job, survivors, victim)
            check_left(job, way[2])
            return Kill(way, phase, in_operation, *times)
        except AssertionError:
            print(f"kill {number}: {way}, {phase}, ranks {dead}\n{job.text()}")
            raise
        finally:
            job.close()


def check_left(job, children):
    """Nothing but the sleeping children, which have nothing of the library."""
    limit = children * job.nranks
    deadline = time.monotonic() + 2
    while len(jobs.marked(job.mark)) > limit and time.monotonic() < deadline:
        time.sleep(0.01)
    left = jobs.marked(job.mark)
    assert len(left) <= limit, f"left behind: {left}"
    for pid in left:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            assert "ronde" not in target and not target.startswith("socket"), f"child {pid} holds {target}"


def phases(number, chance):
    """Four fifths in operations, some of them with a second death, in a random order."""
    others, twice = number // 5, number // 8
    chosen = ["operation"] * (number - others - twice) + ["twice"] * twice
    chosen += ["start-up", "destroy"] * (others // 2) + ["start-up"] * (others % 2)
    chance.shuffle(chosen)
    return chosen


def main():
    program, status = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)
    print(f"kill_matrix: {number} kills, seed {seed}", flush=True)
    chance = random.Random(seed)
    files_before = jobs.shared_memory_files()
    begin = time.monotonic()
    kills = [kill_one(program, status, WAYS[i % len(WAYS)], phase, i, chance)
             for i, phase in enumerate(phases(number, chance))]
    for way in WAYS:
        some = [kill for kill in kills if kill.way == way and kill.phase == "operation"]
        if not some:
            continue
        detections = sorted(kill.detection for kill in some)
        print(f"{way[0]} ranks, {way[1]}, {way[2]} children: {len(some)} kills; noticed by all after "
              f"{statistics.median(detections):.3f} s (median), {detections[-1]:.3f} s (most); shrunk after "
              f"{max(kill.shrunk for kill in some):.3f} s (most)")
    counts = collections.Counter(kill.phase for kill in kills)
    inside = sum(kill.in_operation for kill in kills)
    print(f"{dict(counts)}; {inside} inside an operation by the black box; {time.monotonic() - begin:.0f} s")
    new = {name for name in jobs.shared_memory_files() - files_before if "ronde" in name}
    assert not new, f"left in /dev/shm: {new}"
    if number < 100:
        return  # what the machine does besides would count too much
    detections = [kill.detection for kill in kills if kill.detection is not None]
    assert statistics.median(detections) <= 0.5, f"noticed after {statistics.median(detections):.3f} s (median)"
    assert inside >= 0.6 * number, "too few kills inside an operation"


if __name__ == "__main__":
    main()
