"""The baseline: the cost of the statements that a request cannot avoid, run by pgbench."""

import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import usage
from bench.cluster import Cluster
from bench.errors import BenchError
from bench.measure import Load
from bench.service import PARTNER, Service
from bench.workloads import MIX, Dataset
from config.embedded.server import programs

_SCRIPTS = Path(__file__).with_name("baseline_sql")
_PROGRAM = "pgbench"
# For sessions to open and to prepare all statements; a run of that length is subtracted.
OPENING_SECONDS = 1
# Less would not stand out from the subtracted run.
SHORTEST_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Baseline:
    """The cost of a transaction. pgbench, database: µs of processor time. per_second: transactions."""

    per_second: float
    pgbench: float
    database: float


class _Played(NamedTuple):
    """One run of pgbench. pgbench, database: seconds of processor time."""

    transactions: int
    per_second: float
    pgbench: float
    database: float


def available() -> bool:
    """Whether this PostgreSQL has pgbench."""
    return (programs() / _PROGRAM).exists()


def measure(service: Service, cluster: Cluster, dataset: Dataset, workload: str, load: Load) -> Baseline:
    """Run a workload's statements in the database of a service. Raises BenchError."""
    shares = MIX if workload == "mix" else {workload: 1}
    with tempfile.TemporaryDirectory(prefix="psi-bench-") as folder:
        play = partial(
            _pgbench,
            cluster,
            "--no-vacuum",
            "--protocol=prepared",
            f"--client={load.connections}",
            *(f"--define={name}={value}" for name, value in _variables(service, cluster, dataset).items()),
            *(f"--file={_script(name, Path(folder))}@{share}" for name, share in shares.items()),
            cluster.url(service.seeded.database),
        )
        # The service keeps its sessions: opening them is no part of a transaction's cost.
        opening = play(f"--time={OPENING_SECONDS}")
        whole = play(f"--time={OPENING_SECONDS + max(load.seconds, SHORTEST_SECONDS)}")
    count = whole.transactions - opening.transactions
    if count <= 0:
        raise BenchError("pgbench did more in one second than in several: the machine is too busy.")
    return Baseline(
        whole.per_second,
        (whole.pgbench - opening.pgbench) / count * 1e6,
        (whole.database - opening.database) / count * 1e6,
    )


def parse(output: str) -> tuple[int, float]:
    """Return number and rate of pgbench's transactions. Raises BenchError if there are none."""
    count = re.search(r"^number of transactions actually processed: ([1-9]\d*)", output, re.MULTILINE)
    rate = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    if count is None or rate is None:
        raise BenchError(f"pgbench counted no transactions: {output.strip()[-2000:]}")
    return int(count[1]), float(rate[1])


def _script(workload: str, folder: Path) -> Path:
    # Each request looks the key up first.
    script = folder / f"{workload}.sql"
    script.write_text("".join((_SCRIPTS / f"{name}.sql").read_text() for name in ("key", workload)))
    return script


def _variables(service: Service, cluster: Cluster, dataset: Dataset) -> dict[str, str | int]:
    with cluster.connect(service.seeded.database) as connection:
        row = connection.execute("SELECT id FROM partners_partner WHERE slug = %s", [PARTNER]).fetchone()
    if row is None:
        raise BenchError(f"There is no partner {PARTNER}.")
    digest = hashlib.sha256(service.client.api_key.encode()).hexdigest()
    return {"partner": row[0], "digest": digest, "highest": dataset.highest}


def _pgbench(cluster: Cluster, *arguments: str) -> _Played:
    before = usage.processor_seconds(cluster.pid), usage.ended_seconds()
    done = subprocess.run([programs() / _PROGRAM, *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BenchError(f"pgbench failed: {done.stderr.strip()[-2000:]}")
    after = usage.processor_seconds(cluster.pid), usage.ended_seconds()
    database, pgbench = (then - first for first, then in zip(before, after, strict=True))
    return _Played(*parse(done.stdout), pgbench, database)
