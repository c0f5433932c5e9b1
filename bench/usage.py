"""Processor time and memory of processes."""

import resource
import time
from contextlib import suppress
from typing import NamedTuple

import psutil

from bench.errors import BenchError

# For a process that ends to be counted by its parent.
_PAUSE_SECONDS = 0.01


class Memory(NamedTuple):
    """Resident bytes of a tree of processes; shared pages count in each."""

    total: int
    largest: int


def processor_seconds(pid: int) -> float:
    """Return user and system time of a process and its descendants, ended ones included.

    Raises BenchError if the process has ended.
    """
    while True:
        with suppress(psutil.NoSuchProcess):
            tree = _tree(pid)
            # Ended processes, such as backends of closed sessions, are in their parent's children_*.
            total = sum(
                times.user + times.system + times.children_user + times.children_system
                for times in (process.cpu_times() for process in tree)
            )
            # A process that ends meanwhile would be counted twice or not at all.
            if _tree(pid) == tree:
                return total
        if not psutil.pid_exists(pid):
            raise BenchError(f"The measured process {pid} has ended.")
        time.sleep(_PAUSE_SECONDS)


def ended_seconds() -> float:
    """Return user and system time of ended programs that this process started: wrk, pgbench."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pid: int) -> Memory:
    """Return the memory of a process and its descendants."""
    held = []
    for process in _tree(pid):
        with suppress(psutil.NoSuchProcess):
            held.append(process.memory_info().rss)
    return Memory(sum(held), max(held, default=0))


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]
