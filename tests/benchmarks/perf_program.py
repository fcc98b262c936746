"""Runs a *_perf program for the tests in this folder. Standard library only."""
import os
import re
import signal
import socket
import subprocess

# Where the cells of a row lie: format columns, then time, algbw, busbw, #wrong for each side.
PREFIX = 12 + 2 + 12 + 2 + 8 + 2 + 6 + 2 + 6
WIDTHS = (7, 6, 6, 6)


def environment(**settings):
    """The environment without what launchers and earlier tests may have left in it."""
    left = ("RONDE_", "OMPI_", "PMI", "PMIX", "SLURM_", "MASTER_")
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left) and k not in names}
    kept.update(settings)
    return kept


def run(program, arguments, **settings):
    """A finished process; its whole output is shown if a check fails later."""
    done = subprocess.run([program] + arguments.split(), env=environment(**settings), timeout=100, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    print(f"--- {settings} {arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
    return done


def start_ranks(program, arguments, number):
    """Processes of one job on this host, as torchrun would start them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(number):
        variables = environment(RANK=str(rank), WORLD_SIZE=str(number), LOCAL_RANK=str(rank), MASTER_PORT=str(port),
                                LOCAL_WORLD_SIZE=str(number), MASTER_ADDR="127.0.0.1")
        processes.append(subprocess.Popen([program] + arguments.split(), env=variables, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return processes


def end_ranks(processes):
    """Ends what is left of a job, after a test that failed too."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def rows(output):
    return [line for line in output.splitlines() if line and not line.startswith("#")]


def cells(row):
    """(time, algbw, busbw, #wrong) of each side, cut by position: this is what holds the widths fixed."""
    sides = []
    at = PREFIX
    for _ in range(2):
        side = []
        for width in WIDTHS:
            assert row[at:at + 2] == "  ", f"no gap at {at}: {row}"
            side.append(row[at + 2:at + 2 + width])
            at += 2 + width
        sides.append(side)
    return sides


def wrong_counts(output):
    """#wrong of both sides of each row."""
    return [(cells(row)[0][3].strip(), cells(row)[1][3].strip()) for row in rows(output)]


def normalize(output):
    """The output with what differs from run to run replaced by marks of the same width."""
    lines = []
    for line in output.splitlines():
        if line and not line.startswith("#"):
            marked = ""
            for time, _, _, wrong in cells(line):
                numbers = "      N/A     N/A     N/A  " if time.strip() == "N/A" else "  <time->  <algb>  <busb>  "
                marked += numbers + wrong
            line = line[:PREFIX] + marked + line[PREFIX + 66:]
        line = re.sub(r"Pid +\d+ on +\S+", "Pid <pid-> on <host---->", line)
        line = re.sub(r"(# Avg bus bandwidth    : )\S+", r"\1<average>", line)
        line = re.sub(r"version \S+ ronde-headers=\d+ ronde-library=\d+", "version <version>", line)
        lines.append(line)
    return "\n".join(lines) + "\n"
