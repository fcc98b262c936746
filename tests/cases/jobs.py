"""Starts the ranks of a job and finds out what is left of it. Standard library only."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time

MARK = "TEST_JOB_MARK"


def environment(**settings):
    """The environment without what launchers may have left in it."""
    left = ("RONDE_", "OMPI_", "PMI", "PMIX", "SLURM_", "MASTER_", MARK)
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left) and k not in names}
    kept.update(settings)
    return kept


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ranks(command, nranks, settings, output):
    """Processes of one job on this host without a launcher, as torchrun would tell them. command: a list, or a function
    of the rank. output(rank) gives (stdout, stderr)."""
    port = str(free_port())
    processes = []
    for rank in range(nranks):
        variables = environment(RANK=str(rank), WORLD_SIZE=str(nranks), LOCAL_RANK=str(rank), MASTER_PORT=port,
                                LOCAL_WORLD_SIZE=str(nranks), MASTER_ADDR="127.0.0.1", **settings)
        out, err = output(rank)
        own = command(rank) if callable(command) else command
        processes.append(subprocess.Popen(own, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err))
    return processes


def wait_all(processes, seconds):
    """Waits for the end of all of them. Returns the numbers (in the list) of those that have not ended in time."""
    deadline = time.monotonic() + seconds
    late = []
    for number, process in enumerate(processes):
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            late.append(number)
    return late


def kill_all(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def run_ranks(command, nranks, settings, seconds):
    """Runs a job to its end: [(exit code, what it has printed)] by rank. An AssertionError names the ranks that hang."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as files:
        outputs = [files.enter_context(open(os.path.join(folder, str(rank)), "w+b")) for rank in range(nranks)]
        processes = start_ranks(command, nranks, settings, lambda rank: (outputs[rank], subprocess.STDOUT))
        try:
            late = wait_all(processes, seconds)
        finally:
            kill_all(processes)
        texts = []
        for file in outputs:
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        assert not late, f"ranks {late} hang: {texts}"
    return [(process.returncode, text) for process, text in zip(processes, texts)]


def marked(mark, variable=None):
    """Living processes that were started with TEST_JOB_MARK=mark: {pid: environment as text}."""
    found = {}
    wanted = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            if wanted not in variables or state in "ZX":
                continue
            values = [v for v in variables if variable is None or v.startswith(variable.encode() + b"=")]
            if values:
                found[int(name)] = b" ".join(values).decode(errors="replace")
    return found


def wait_until_gone(mark, seconds=2.0):
    """What is left of a job after a short while (a process that was killed takes a moment)."""
    deadline = time.monotonic() + seconds
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.01)
    return marked(mark)


def kill_marked(mark):
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def shared_memory_files():
    return set(os.listdir("/dev/shm"))
