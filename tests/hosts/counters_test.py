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


class Moved:
    """What has gone from one host to the other: bytes, and segments that TCP sent again, as on a busy machine."""

    def __init__(self, wire, again):
        self.wire, self.again = wire, again

    def __sub__(self, before):
        return Moved(self.wire - before.wire, self.again - before.again)


def so_far(hosts):
    """What host 0 has sent and received."""
    (sent, received), _ = hosts.interface_bytes(0)
    return Moved(sent, hosts.sent_again(0)), Moved(received, hosts.sent_again(1))


def moved(hosts, launcher, slots, size, iterations):
    """What host 0 has sent and received during one run, and the report of the run."""
    before = so_far(hosts)
    report = launcher.measure(slots, ["-b", size, "-e", size, "-n", str(iterations), "--counters"])
    sent, received = (now - then for now, then in zip(so_far(hosts), before))
    return sent, received, report


def counted(report, ranks, name):
    """What those ranks moved over TCP in one operation, heads included."""
    rows = [row for row in report["counters"] if row["transport"] == "tcp" and row["rank"] in ranks]
    assert rows, "no counters for tcp"
    return sum(row[name] + row[name + "_header"] for row in rows)


def compare(hosts, launcher, slots, size):
    """What the interface has moved must be what the counters say and the packets' headers, and never less."""
    sent_few, received_few, _ = moved(hosts, launcher, slots, size, FEW)
    sent_many, received_many, report = moved(hosts, launcher, slots, size, MANY)
    operations = 2 * (MANY - FEW)  # out of place and in place
    for name, few, many in (("sent", sent_few, sent_many), ("received", received_few, received_many)):
        expected = operations * counted(report, range(slots[0]), name)
        again = few.again + many.again
        ratio = (many - few).wire / expected
        print(f"{'+'.join(map(str, slots))} ranks, {size}, {name}: interface {(many - few).wire}, counters {expected}, "
              f"ratio {ratio:.5f}, of which headers of full packets {HEADERS:.5f}; segments sent again {again}", flush=True)
        sent_again = again * GREATEST_MTU / expected  # at most, and in either of the runs
        assert 1 - 1e-9 - sent_again <= ratio <= 1 + HEADERS + TOLERANCE + sent_again, ratio


if __name__ == "__main__":
    need_namespaces()
    with Hosts(2) as two, Launcher(two, sys.argv[1:]) as start:
        compare(two, start, [1, 1], "16M")
        compare(two, start, [3, 2], "16M")
        compare(two, start, [1, 1], "256K")
