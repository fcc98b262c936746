#!/usr/bin/env python3
"""Ranks on two and three hosts, without any setting. The first argument chooses the part.

    two_hosts_test.py PART ALLREDUCE_PERF RONDERUN
"""
import sys

from host_jobs import Launcher, check_right
from namespaces import Hosts, ipv6_is_there, need_namespaces, skip

SIZES = ["-b", "4", "-e", "4M", "-f", "32", "-n", "2", "-d", "float,bfloat16,uint8", "-o", "sum,avg,max"]


def three_and_two(programs, families):
    with Hosts(2, families) as hosts, Launcher(hosts, programs) as launcher:
        check_right(launcher.run([3, 2], SIZES))
        check_right(launcher.run([3, 2], ["-b", "16M", "-e", "16M", "-n", "1"]))


def ipv4(programs):
    three_and_two(programs, "4")


def ipv6(programs):
    if not ipv6_is_there():
        skip("no IPv6 here")
    three_and_two(programs, "6")


def case_06_three_hosts(programs):
    """Situation 6: 3 + 5 + 1 ranks; counts 1, n-1, n, n+1, 1000 and 2^20+3 of four bytes, every reduction."""
    with Hosts(3) as hosts, Launcher(hosts, programs) as launcher:
        for count in (1, 8, 9, 10, 1000, 2**20 + 3):
            size = str(4 * count)
            check_right(launcher.run([3, 5, 1], ["-b", size, "-e", size, "-n", "1", "-o", "all", "-d", "int32,float"]))


if __name__ == "__main__":
    need_namespaces()
    globals()[sys.argv[1]](sys.argv[2:])
