"""Runs allreduce_perf over hosts of namespaces.py and reads what it says. Standard library only."""
import json
import os
import shlex
import stat
import subprocess
import tempfile


def environment(**settings):
    """The environment without what launchers and earlier tests may have left in it."""
    left = ("RONDE_", "OMPI_", "PMI", "PMIX", "SLURM_", "MASTER_")
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left) and k not in names}
    kept.update(settings)
    return kept


class Launcher:
    """ronderun on host 0; each host is reached by a script that enters its namespace, as ssh would reach it. enter: what
    runs a command there in a further surrounding, by host."""

    def __init__(self, hosts, programs):
        self.hosts = hosts
        self.perf, self.ronderun = programs
        self.enter = {}
        self.folder = tempfile.TemporaryDirectory()
        self.rsh = os.path.join(self.folder.name, "rsh")

    def _write_rsh(self):
        script = "#!/bin/sh\nhost=$1\nshift\ncase $host in\n"
        for host, words in self.enter.items():
            script += f"{self.hosts.names[host]}) exec ip netns exec $host {shlex.join(words)} sh -c \"$*\" ;;\n"
        with open(self.rsh, "w", encoding="utf-8") as file:
            file.write(script + 'esac\nexec ip netns exec "$host" sh -c "$*"\n')
        os.chmod(self.rsh, stat.S_IRWXU)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.folder.cleanup()

    def run(self, slots, arguments, timeout=60, program=None, **settings):
        """slots: ranks on each host, in order."""
        self._write_rsh()
        places = ",".join(f"{name}:{count}" for name, count in zip(self.hosts.names, slots) if count > 0)
        command = [self.ronderun, "-H", places, "--rsh", self.rsh, *(program or [self.perf]), *arguments]
        done = subprocess.run(self.hosts.command(0, [*self.enter.get(0, []), *command]), env=environment(**settings), timeout=timeout, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        print(f"--- {'+'.join(map(str, slots))} ranks, {settings} {' '.join(arguments)}: exit code {done.returncode}\n"
              f"{done.stdout}{done.stderr}", flush=True)
        return done

    def measure(self, slots, arguments, **settings):
        """The JSON report of a run that must be right."""
        path = os.path.join(self.folder.name, "report.json")
        done = self.run(slots, [*arguments, "-J", path], **settings)
        check_right(done)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        os.unlink(path)
        return report


def check_right(done, quiet=True):
    """Exit code 0, rows, no wrong element, nothing on stderr."""
    assert done.returncode == 0, f"exit code {done.returncode}"
    rows = [line.split() for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    assert rows, "no rows"
    for row in rows:
        assert (row[8], row[12]) == ("0", "0"), f"wrong elements: {row}"
    assert not quiet or done.stderr == "", f"stderr is not empty: {done.stderr}"
