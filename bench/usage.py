"""What processes used."""

import resource
import time
from contextlib import suppress
from typing import NamedTuple

import psutil

from bench.errors import BenchError

# Until a process that ends is gone and counted by its parent.
_PAUSE_SECONDS = 0.01


class Memory(NamedTuple):
    """Resident bytes of a tree of processes. Pages that a fork shares count in each of them."""

    total: int
    largest: int


def processor_seconds(pid: int) -> float:
    """User and system time, so far, of a process, of all below it and of those below it that have ended.

    Raises BenchError where the process itself has.
    """
    while True:
        with suppress(psutil.NoSuchProcess):
            tree = _tree(pid)
            # Those who ended are their parent's "children": a backend of a closed session, a worker that was replaced.
            total = sum(
                times.user + times.system + times.children_user + times.children_system
                for times in (process.cpu_times() for process in tree)
            )
            # Who ends in the midst of this would be counted twice or not at all.
            if _tree(pid) == tree:
                return total
        if not psutil.pid_exists(pid):
            raise BenchError(f"Process {pid}, which was measured, has ended.")
        time.sleep(_PAUSE_SECONDS)


def ended_seconds() -> float:
    """User and system time of the programs that this process started and that have ended: wrk, pgbench."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pid: int) -> Memory:
    """What a process and all below it hold now."""
    held = []
    for process in _tree(pid):
        with suppress(psutil.NoSuchProcess):
            held.append(process.memory_info().rss)
    return Memory(sum(held), max(held, default=0))


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]
