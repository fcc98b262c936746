#!/usr/bin/env python3
"""Situation 15: names and addresses. The first argument chooses the part.

    case_15_test.py PART ALLREDUCE_PERF RONDERUN
"""
import os
import subprocess
import sys
import time

from host_jobs import Launcher, check_right, environment
from namespaces import Hosts, ip, need_namespaces

ARGUMENTS = ["-b", "4", "-e", "1M", "-f", "64", "-n", "2"]


def run_here(hosts, programs, host, prefix, nranks=4, **settings):
    """ronderun on one host alone, after what `prefix` sets up."""
    perf, ronderun = programs
    command = hosts.command(host, [*prefix, ronderun, "-n", str(nranks), perf, *ARGUMENTS])
    begin = time.monotonic()
    done = subprocess.run(command, env=environment(**settings), timeout=60, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    print(f"--- {settings}: exit code {done.returncode} after {time.monotonic() - begin:.1f} s\n"
          f"{done.stdout}{done.stderr}", flush=True)
    return done, time.monotonic() - begin


def with_files(folder, **files):
    """A prefix that runs a command with other contents of files in /etc, in a mount and a uts namespace."""
    script = "set -e\n"
    for name, content in files.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        script += f"test ! -e /etc/{name} || mount --bind {path} /etc/{name}\n"
    return ["unshare", "-m", "-u", "sh", "-c", script + 'hostname "$1"\nshift\nexec "$@"', "sh"]


def own_name(programs):
    """Both hosts call themselves by a name that resolves to 127.0.1.1."""
    with Hosts(2, "4") as hosts, Launcher(hosts, programs) as launcher:
        prefix = with_files(launcher.folder.name, hosts="127.0.0.1 localhost\n127.0.1.1 node-a node-b\n")
        launcher.enter = {0: [*prefix, "node-a"], 1: [*prefix, "node-b"]}
        check_right(launcher.run([2, 2], ARGUMENTS))


def loopback_only(programs):
    """Nothing but lo is up, and no name resolves."""
    with Hosts(2, "4") as hosts, Launcher(hosts, programs) as launcher:
        ip("-n", hosts.names[0], "link", "set", "eth0", "down")
        prefix = with_files(launcher.folder.name, hosts="", **{"resolv.conf": "", "nsswitch.conf": "hosts: files\n"})
        for transport in ("auto", "tcp"):
            done, _ = run_here(hosts, programs, 0, [*prefix, "nowhere"], RONDE_TRANSPORT=transport)
            check_right(done)


def add_dead_ends(hosts, host, number):
    """Interfaces that are up and lead to nobody: the far end of each pair has no address."""
    for i in range(number):
        ip("-n", hosts.names[host], "link", "add", f"dead{i}", "type", "veth", "peer", "name", f"end{i}")
        ip("-n", hosts.names[host], "link", "set", f"end{i}", "up")
        ip("-n", hosts.names[host], "link", "set", f"dead{i}", "up")
        ip("-n", hosts.names[host], "address", "add", f"10.{100 + i}.{host}.1/16", "dev", f"dead{i}")


def many_interfaces(programs):
    """One host with 20 more of them; then two such hosts whose dead ends have addresses of the same networks."""
    with Hosts(2, "4") as hosts, Launcher(hosts, programs) as launcher:
        for host in range(2):
            add_dead_ends(hosts, host, 20)
        for transport in ("auto", "tcp"):
            done, seconds = run_here(hosts, programs, 0, [], RONDE_TRANSPORT=transport)
            check_right(done)
            assert seconds < 10, f"{seconds:.1f} s, of which at most 5 s are for the start"
        check_right(launcher.run([2, 2], ARGUMENTS))


def unreachable_interface(programs):
    """The setting names an interface that the other host cannot reach."""
    with Hosts(2, "4") as hosts, Launcher(hosts, programs) as launcher:
        for host in range(2):
            add_dead_ends(hosts, host, 1)
        begin = time.monotonic()
        done = launcher.run([1, 1], ARGUMENTS, RONDE_SOCKET_IFNAME="dead0")
        seconds = time.monotonic() - begin
        print(f"ended after {seconds:.1f} s")
        assert done.returncode != 0
        assert seconds <= 10, f"{seconds:.1f} s"
        assert "10.100.0.1" in done.stderr, "the address that was tried is not named"
        assert "RONDE_SOCKET_IFNAME" in done.stderr, "the setting is not named"


if __name__ == "__main__":
    need_namespaces()
    globals()[sys.argv[1]](sys.argv[2:])
