#!/usr/bin/env python3
"""Situation 16: IPv6 between two hosts. The first argument chooses the part.

    case_16_test.py PART ALLREDUCE_PERF RONDERUN
"""
import sys
import time

from host_jobs import Launcher, check_right
from namespaces import Hosts, ipv6_is_there, need_namespaces, skip

ARGUMENTS = ["-b", "4", "-e", "1M", "-f", "64", "-n", "2"]


def works(programs, families):
    with Hosts(2, families) as hosts, Launcher(hosts, programs) as launcher:
        check_right(launcher.run([2, 2], ARGUMENTS))


def ipv6_only(programs):
    works(programs, "6")


def both_and_ipv6_only(programs):
    works(programs, ["46", "6"])
    works(programs, ["6", "46"])


def switched_off(programs):
    """By sysctl, on both hosts and on one."""
    works(programs, "4")
    works(programs, ["46", "4"])
    works(programs, ["4", "46"])


def nothing_in_common(programs):
    for families in (["4", "6"], ["6", "4"]):
        with Hosts(2, families) as hosts, Launcher(hosts, programs) as launcher:
            begin = time.monotonic()
            done = launcher.run([1, 1], ARGUMENTS)
            seconds = time.monotonic() - begin
            print(f"{families}: ended after {seconds:.1f} s")
            assert done.returncode != 0
            assert seconds <= 10, seconds
            assert "IPv4" in done.stderr and "IPv6" in done.stderr, "the families are not named"


if __name__ == "__main__":
    need_namespaces()
    if not ipv6_is_there():
        skip("no IPv6 here")
    globals()[sys.argv[1]](sys.argv[2:])
