"""Hosts for tests: network namespaces with names of their own, joined by veth pairs. Needs root; standard library only.

    with Hosts(2) as hosts:              two hosts joined by one veth pair, IPv4 and IPv6
        hosts.run(0, ["ip", "address"])
    with Hosts(4, rate="1gbit"):         four hosts on a switch, both directions of each held to a rate

All names begin with "rt" and the number of this process; leaving the block removes what it made and nothing else.
"""
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time

SKIPPED = 77
GREATEST_MTU = 65535
_numbers = itertools.count()


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def ip(*words, check=True):
    return _run(["ip", *words], check)


def _run(words, check=True):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def need_namespaces():
    """Ends the test as skipped where namespaces, veth pairs or rate limits cannot be made."""
    if os.geteuid() != 0:
        skip("network namespaces need root")
    name = f"rt{os.getpid()}probe"
    try:
        ip("netns", "add", name)
        try:
            ip("-n", name, "link", "add", "name", "one", "type", "veth", "peer", "name", "two")
        finally:
            ip("netns", "del", name, check=False)
    except (OSError, RuntimeError) as error:
        skip(f"no network namespaces here: {error}")


def ipv6_is_there():
    return os.path.exists("/proc/net/if_inet6")


class Hosts:
    """number hosts; families is one of "4", "6", "46", or a list of them, one a host. Two hosts without switch are
    joined directly. mtu holds for every device. rate (as tc writes it) limits what each host sends and what it receives."""

    def __init__(self, number, families="46", mtu=GREATEST_MTU, rate=None, switch=None):
        self.number = number
        self.families = [families] * number if isinstance(families, str) else list(families)
        self.mtu = mtu
        self.rate = rate
        self.switch = number != 2 if switch is None else switch
        prefix = f"rt{os.getpid()}x{next(_numbers)}"
        self.names = [f"{prefix}h{host}" for host in range(number)]
        self.switch_name = f"{prefix}sw"
        self._made = []

    def __enter__(self):
        try:
            for name in self.names:
                self._make_namespace(name)
            self._join()
            for host in range(self.number):
                self._set_up(host)
            for name in self.names:
                self._await_carrier(name)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *unused):
        self._remove()

    def _make_namespace(self, name):
        ip("netns", "add", name)
        self._made.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def _join(self):
        """Each host gets "eth0"; a pair is made inside a namespace, so that no name can clash elsewhere."""
        if not self.switch:
            ip("-n", self.names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns",
               self.names[1])
            return
        self._make_namespace(self.switch_name)
        ip("-n", self.switch_name, "link", "add", "bridge0", "type", "bridge")
        ip("-n", self.switch_name, "link", "set", "bridge0", "mtu", str(self.mtu), "up")
        for host, name in enumerate(self.names):
            port = f"port{host}"
            ip("-n", self.switch_name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.switch_name, "link", "set", port, "mtu", str(self.mtu), "master", "bridge0", "up")
            self._limit(self.switch_name, port)

    @staticmethod
    def _await_carrier(name):
        """The kernel tells a while after both ends are up that a pair carries; until then it is no interface to use."""
        deadline = time.monotonic() + 10
        while json.loads(ip("-n", name, "-j", "link", "show", "dev", "eth0"))[0]["operstate"] != "UP":
            if time.monotonic() > deadline:
                raise RuntimeError(f"eth0 of {name} has no carrier after 10 s")
            time.sleep(0.01)

    def _set_up(self, host):
        name = self.names[host]
        families = self.families[host]
        if "6" not in families:
            for where in ("all", "default", "lo", "eth0"):
                self._sysctl(host, f"net/ipv6/conf/{where}/disable_ipv6", "1")
        else:
            self._sysctl(host, "net/ipv6/conf/eth0/accept_dad", "0")
        ip("-n", name, "link", "set", "eth0", "mtu", str(self.mtu), "up")
        if "4" in families:
            ip("-n", name, "address", "add", f"{self.ipv4(host)}/24", "dev", "eth0")
        else:
            ip("-n", name, "-4", "address", "flush", "dev", "eth0")
        if "6" in families:
            ip("-n", name, "address", "add", f"{self.ipv6(host)}/64", "dev", "eth0", "nodad")
        self._limit(name, "eth0")

    def _sysctl(self, host, key, value):
        if os.path.exists(f"/proc/sys/{key}") or "eth0" in key:
            self.run(host, ["sh", "-c", f"test ! -e /proc/sys/{key} || echo {value} > /proc/sys/{key}"])

    def _limit(self, namespace, device):
        if self.rate is None:
            return
        # The burst takes a whole segment of the greatest size: tbf would cut it up otherwise, which costs time.
        _run(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst", "256kb",
              "latency", "100ms"])

    def _remove(self):
        """The devices go with their namespaces."""
        for name in reversed(self._made):
            with contextlib.suppress(OSError, RuntimeError):
                ip("netns", "del", name)
        self._made = []

    def ipv4(self, host):
        return f"10.77.0.{host + 1}"

    def ipv6(self, host):
        return f"fd77::{host + 1:x}"

    def command(self, host, words):
        """The same command, to be run on that host."""
        return ["ip", "netns", "exec", self.names[host], *words]

    def run(self, host, words, **more):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": True}
        options.update(more)
        return subprocess.run(self.command(host, words), **options)

    def run_on_switch(self, words):
        return _run(["ip", "netns", "exec", self.switch_name, *words])

    def sent_again(self, host):
        """Segments that TCP has sent again on this host."""
        with_names = [line.split() for line in self.run(host, ["cat", "/proc/net/snmp"]).stdout.splitlines()]
        names, values = (line for line in with_names if line[0] == "Tcp:")
        return int(values[names.index("RetransSegs")])

    def interface_bytes(self, host):
        """(sent, received) of eth0 since it was made, and the same in packets."""
        link = json.loads(ip("-j", "-s", "-n", self.names[host], "link", "show", "dev", "eth0"))[0]
        counters = link.get("stats64") or link["stats"]
        sent, received = counters["tx"], counters["rx"]
        return (sent["bytes"], received["bytes"]), (sent["packets"], received["packets"])
