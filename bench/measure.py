"""One workload, played once against one service."""

import tempfile
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from bench import usage, workloads, wrk
from bench.cluster import Cluster
from bench.service import Service
from bench.workloads import Workload, World

# Of requests that may be sent twice; wrk begins anew after them.
REPEATED = 5000
# More than a service answers a second, for writes of which nothing is known yet.
UNKNOWN_RATE = 20_000
# A service that is so much quicker than in any round before finds enough requests.
MARGIN = 2
# So many there are in any case: the rounds before may have met a machine that stood still.
LEAST_RATE = 5000


@dataclass(frozen=True, slots=True)
class Figures:
    """What a workload cost.

    requests: how many were answered. per_second: of those. server, database: processor time a request, in µs.
    p50, p99: ms. player: how much of a processor wrk took; at 1 it would be wrk that is measured.
    """

    requests: int
    per_second: float
    server: float
    database: float
    p50: float
    p99: float
    player: float

    @property
    def both(self) -> float:
        """Processor time of server and PostgreSQL together, µs a request."""
        return self.server + self.database


@dataclass(frozen=True, slots=True)
class Load:
    """How hard a workload is played."""

    seconds: int
    connections: int


def measure(
    service: Service, cluster: Cluster, world: World, workload: Workload, load: Load, rate: float | None
) -> Figures:
    """Plays a workload. rate: its most requests a second so far. Raises BenchError where a request failed."""
    rate = UNKNOWN_RATE if rate is None else max(rate * MARGIN, LEAST_RATE)
    count = REPEATED if workload.repeatable else int(rate * load.seconds)
    with tempfile.TemporaryDirectory(prefix="psi-bench-") as folder:
        path = Path(folder, "requests")
        with path.open("wb") as file:
            workloads.write((make(world) for make in repeat(workload.make, count)), service.client, file)
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
    server, database, player = (then - first for first, then in zip(before, after, strict=True))
    return Figures(
        requests=played.requests,
        per_second=played.requests / played.seconds,
        server=server / played.requests * 1e6,
        database=database / played.requests * 1e6,
        p50=played.p50,
        p99=played.p99,
        player=player / played.seconds,
    )


def _processor_seconds(service: Service, cluster: Cluster) -> tuple[float, float, float]:
    return usage.processor_seconds(service.pid), usage.processor_seconds(cluster.pid), usage.ended_seconds()
