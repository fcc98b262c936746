#!/usr/bin/env python3
"""A host that falls silent, and a link that is down for a while (cases 13 and 17), between ranks on three hosts.

    silent_test.py lost ALLREDUCE_PERF [LIMIT]
    silent_test.py joining ALLREDUCE_PERF [LIMIT [complete]]
    silent_test.py back ALLREDUCE_PERF [TIMES]

lost: all packets of one host are dropped for good. All others get an error after LIMIT (RONDE_SILENT_TIMEOUT, 10) to 5 s
      more that names a rank there, also those that have nothing in common with it, and also while rank 0 is
      stopped.
joining: the same in start-up, while all wait for the last rank; complete: which comes at that moment, so that the rank is
      sent something.
back: the link is down for 5 s, TIMES times; after the first of several it is up for 2 s only, 10 s else. No error; the loop
      goes on within 15 s and all results are right. No warning either, unless the 2 s were missed (TCP repeats itself ever
      more rarely): then there was nothing for 12 s.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from host_jobs import environment
from namespaces import Hosts, ip, need_namespaces

SLOTS = (2, 1, 1)  # ranks on each host
SILENT_HOST = 1
SILENT_RANK = 2


class Ranks:
    """allreduce_perf in an endless loop; each rank's output in files."""

    def __init__(self, hosts, perf, size, folder, **more):
        secret = os.path.join(folder, "secret")
        with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(32).hex().encode())
        self.hosts = hosts
        self.command = [perf, "-b", size, "-e", size, "-n", "2", "-N", "0"]
        self.folder = folder
        self.settings = {"WORLD_SIZE": str(sum(SLOTS)), "MASTER_ADDR": hosts.ipv4(0), "MASTER_PORT": "29500",
                         "RONDE_SECRET_FILE": secret, **more}
        self.processes = []

    def start(self, host):
        """The ranks of that host, which follow those that were started before."""
        for local in range(SLOTS[host]):
            rank = len(self.processes)
            settings = {**self.settings, "RANK": str(rank), "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(SLOTS[host])}
            with open(self.path(rank, "out"), "wb") as out, open(self.path(rank, "err"), "wb") as err:
                self.processes.append(subprocess.Popen(self.hosts.command(host, self.command), stdin=subprocess.DEVNULL,
                                                       stdout=out, stderr=err, env=environment(**settings)))

    def start_all(self):
        for host in range(len(SLOTS)):
            self.start(host)

    def path(self, rank, name):
        return os.path.join(self.folder, f"{name}{rank}")

    def text(self, rank, name):
        with open(self.path(rank, name), encoding="utf-8") as file:
            return file.read()

    def rows(self):
        complete = self.text(0, "out").rpartition("\n")[0]
        return [line.split() for line in complete.splitlines() if line.strip() and line[0] != "#"]

    def await_rows(self, number, seconds):
        """The time when there were so many."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(self.rows()) >= number:
                return time.monotonic()
            ended = [rank for rank, process in enumerate(self.processes) if process.poll() is not None]
            assert not ended, f"ranks {ended} have ended: {[self.text(rank, 'err') for rank in ended]}"
            time.sleep(0.02)
        raise AssertionError(f"no {number} rows after {seconds} s, but {len(self.rows())}")

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def lost(perf, limit="10"):
    for stops_root in (False, True):
        with Hosts(3, "4") as hosts, tempfile.TemporaryDirectory() as folder:
            ranks = Ranks(hosts, perf, "1M", folder, RONDE_SILENT_TIMEOUT=limit)
            try:
                ranks.start_all()
                ranks.await_rows(2, 30)
                if stops_root:
                    ranks.processes[0].send_signal(signal.SIGSTOP)
                hosts.run_on_switch(["bridge", "link", "set", "dev", f"port{SILENT_HOST}", "state", "0"])
                start = time.monotonic()
                for rank, process in enumerate(ranks.processes):
                    if rank == SILENT_RANK or (rank == 0 and stops_root):
                        continue
                    process.wait(30)
                    took = time.monotonic() - start
                    said = ranks.text(rank, "err")
                    print(f"rank {rank}{', rank 0 stopped' if stops_root else ''}: {took:.1f} s: {said.strip()}", flush=True)
                    assert process.returncode not in (0, -9), f"rank {rank}: exit code {process.returncode}"
                    assert float(limit) - 0.5 < took < float(limit) + 5, f"rank {rank} heard of it after {took:.1f} s"
                    assert f"rank {SILENT_RANK} (" in said and "is silent" in said, f"rank {rank}: {said}"
                # The host that was cut off has lost all others.
                ranks.processes[SILENT_RANK].wait(30)
                assert "is silent" in ranks.text(SILENT_RANK, "err"), ranks.text(SILENT_RANK, "err")
                assert time.monotonic() - start < float(limit) + 6
            finally:
                ranks.end()


def joining(perf, limit="10", completion=""):
    with Hosts(3, "4") as hosts, tempfile.TemporaryDirectory() as folder:
        ranks = Ranks(hosts, perf, "1M", folder, RONDE_SILENT_TIMEOUT=limit, RONDE_DEBUG="trace")
        try:
            ranks.start(0)
            ranks.start(1)
            deadline = time.monotonic() + 30
            present = range(len(ranks.processes))
            while not all("joined" in ranks.text(rank, "err") for rank in present):
                assert time.monotonic() < deadline, [ranks.text(rank, "err") for rank in present]
                time.sleep(0.02)
            hosts.run_on_switch(["bridge", "link", "set", "dev", f"port{SILENT_HOST}", "state", "0"])
            start = time.monotonic()
            if completion:
                ranks.start(2)
            for rank in range(len(ranks.processes)):
                ranks.processes[rank].wait(30)
                took = time.monotonic() - start
                said = ranks.text(rank, "err").splitlines()[-1]
                print(f"rank {rank}: {took:.1f} s: {said}", flush=True)
                assert ranks.processes[rank].returncode not in (0, -9), f"rank {rank}"
                assert float(limit) - 0.5 < took < float(limit) + 5, f"rank {rank} heard of it after {took:.1f} s"
                assert rank == SILENT_RANK or f"rank {SILENT_RANK} (" in said, f"rank {rank}: {said}"
        finally:
            ranks.end()


def back(perf, times="1"):
    with Hosts(3, "4") as hosts, tempfile.TemporaryDirectory() as folder:
        ranks = Ranks(hosts, perf, "16M", folder)
        try:
            ranks.start_all()
            ranks.await_rows(2, 60)
            for number in range(int(times)):
                time.sleep(10 if number > 1 else 0)
                ip("-n", hosts.switch_name, "link", "set", f"port{SILENT_HOST}", "down")
                time.sleep(5)
                before = len(ranks.rows())
                ip("-n", hosts.switch_name, "link", "set", f"port{SILENT_HOST}", "up")
                if number == 0 and int(times) > 1:
                    time.sleep(2)
                    continue
                start = time.monotonic()
                took = ranks.await_rows(before + 2, 15) - start
                print(f"down for 5 s: two rows more after {took:.1f} s", flush=True)
            wrong = [row for row in ranks.rows() if len(row) >= 13 and (row[8], row[12]) != ("0", "0")]
            assert not wrong, wrong
            said = "".join(ranks.text(rank, "err") for rank in range(sum(SLOTS))).splitlines()
            late = [line for line in said if " has waited 10 s for rank" in line]
            assert len(said) == (len(late) if int(times) > 1 else 0), said
        finally:
            ranks.end()


if __name__ == "__main__":
    need_namespaces()
    globals()[sys.argv[1]](*sys.argv[2:])
