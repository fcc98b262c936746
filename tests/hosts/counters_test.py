#!/usr/bin/env python3
"""The library's byte counters against those of the interface between two hosts.

    counters_test.py ALLREDUCE_PERF RONDERUN

Two runs that differ only in the number of timed iterations: the difference of what the interface has moved belongs to
those iterations alone, start-up and checks cancel out.
"""
import sys

from host_jobs import Launcher
from namespaces import GREATEST_MTU, Hosts, need_namespaces

FEW, MANY = 2, 22
ETHERNET_IP_TCP_BYTES = 14 + 20 + 20 + 12  # the last: the time stamp of TCP
# A pure acknowledgement a data packet would be the most; delayed ones are half of that or less.
TOLERANCE = 0.01
HEADERS = ETHERNET_IP_TCP_BYTES / (GREATEST_MTU - 40)
TRIES = 3


def moved(hosts, launcher, slots, size, iterations):
    """Bytes that host 0 has sent and received during one run, and the report of the run."""
    (sent_before, received_before), _ = hosts.interface_bytes(0)
    report = launcher.measure(slots, ["-b", size, "-e", size, "-n", str(iterations), "--counters"])
    (sent, received), _ = hosts.interface_bytes(0)
    return sent - sent_before, received - received_before, report


def counted(report, ranks, name):
    """What those ranks moved over TCP in one operation, heads included."""
    rows = [row for row in report["counters"] if row["transport"] == "tcp" and row["rank"] in ranks]
    assert rows, "no counters for tcp"
    return sum(row[name] + row[name + "_header"] for row in rows)


def ratios(hosts, launcher, slots, size):
    """What the interface has moved by what the counters say: (sent, received)."""
    sent_few, received_few, _ = moved(hosts, launcher, slots, size, FEW)
    sent_many, received_many, report = moved(hosts, launcher, slots, size, MANY)
    operations = 2 * (MANY - FEW)  # out of place and in place
    found = []
    for name, wire in (("sent", sent_many - sent_few), ("received", received_many - received_few)):
        expected = operations * counted(report, range(slots[0]), name)
        found.append(wire / expected)
        print(f"{'+'.join(map(str, slots))} ranks, {size}, {name}: interface {wire}, counters {expected}, "
              f"ratio {found[-1]:.5f}, of which headers of full packets {HEADERS:.5f}", flush=True)
    return found


def compare(hosts, launcher, slots, size):
    """On a busy machine TCP sends again what is acknowledged late: more on the wire is measured again, less never."""
    for left in reversed(range(TRIES)):
        found = ratios(hosts, launcher, slots, size)
        assert min(found) >= 1 - 1e-9, found
        if max(found) <= 1 + HEADERS + TOLERANCE:
            return
        assert left, found


if __name__ == "__main__":
    need_namespaces()
    with Hosts(2) as two, Launcher(two, sys.argv[1:]) as start:
        compare(two, start, [1, 1], "16M")
        compare(two, start, [3, 2], "16M")
        compare(two, start, [1, 1], "256K")
