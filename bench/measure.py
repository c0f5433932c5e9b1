"""Measures one workload against one service."""

import resource
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import psutil

from bench import workloads, wrk
from bench.cluster import Cluster
from bench.errors import BenchError
from bench.service import Service
from bench.workloads import Dataset, Workload

# Repeatable requests, which wrk sends again and again.
REPEATED = 5000
# Writes a second to prepare before their rate is known.
UNKNOWN_RATE = 20_000
# A round may be this many times as fast as those before.
MARGIN = 2
# The least rate to prepare for: the machine may have been busy in earlier rounds.
MIN_RATE = 5000
# A process that ends is counted by its parent a moment later.
_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of a workload. server, database: processor time a request, in µs. p50, p99: ms.

    client: wrk's share of a processor; near 1, wrk is the limit.
    """

    requests: int
    per_second: float
    server: float
    database: float
    p50: float
    p99: float
    client: float

    @property
    def both(self) -> float:
        """Processor time of server and PostgreSQL, µs a request."""
        return self.server + self.database


@dataclass(frozen=True, slots=True)
class Load:
    """Duration and concurrency of a measurement."""

    seconds: int
    connections: int


def measure(
    service: Service, cluster: Cluster, dataset: Dataset, workload: Workload, load: Load, rate: float | None
) -> Figures:
    """Measure a workload. rate: the highest so far, a second. Raises BenchError if a request fails."""
    rate = UNKNOWN_RATE if rate is None else max(rate * MARGIN, MIN_RATE)
    count = REPEATED if workload.repeatable else int(rate * load.seconds)
    with tempfile.TemporaryDirectory(prefix="psi-bench-") as folder:
        path = Path(folder, "requests")
        with path.open("wb") as file:
            workloads.write((make(dataset) for make in repeat(workload.make, count)), service.key, file)
        before = _processor_seconds(service, cluster)
        played = wrk.play(
            path,
            port=service.port,
            seconds=load.seconds,
            connections=load.connections,
            cycle=workload.repeatable,
            statuses=workload.statuses,
        )
        after = _processor_seconds(service, cluster)
    server, database, client = (then - first for first, then in zip(before, after, strict=True))
    return Figures(
        requests=played.requests,
        per_second=played.requests / played.seconds,
        server=server / played.requests * 1e6,
        database=database / played.requests * 1e6,
        p50=played.p50,
        p99=played.p99,
        client=client / played.seconds,
    )


def _processor_seconds(service: Service, cluster: Cluster) -> tuple[float, float, float]:
    """Return user and system time so far: of the server, of PostgreSQL, and of wrk, whose runs have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _seconds_of_tree(service.pid), _seconds_of_tree(cluster.pid), ended.ru_utime + ended.ru_stime


def _seconds_of_tree(pid: int) -> float:
    """Return the time of a process and its descendants, ended ones included. Raises BenchError if it has ended."""
    while True:
        with suppress(psutil.NoSuchProcess):
            tree = _tree(pid)
            # Ended processes, such as backends of closed sessions, are in their parent's children_*.
            total = sum(
                times.user + times.system + times.children_user + times.children_system
                for times in (process.cpu_times() for process in tree)
            )
            # A process that ends during the sum would be counted twice or not at all.
            if _tree(pid) == tree:
                return total
        if not psutil.pid_exists(pid):
            raise BenchError(f"The measured process {pid} has ended.")
        time.sleep(_PAUSE_SECONDS)


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]
