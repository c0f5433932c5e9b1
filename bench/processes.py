"""Throughput of two processes compared with one: `python -m bench.processes [--share 0.4] [--rounds 5]`, as root.

If PostgreSQL, wrk and two workers need more cores than there are, the cores are the limit and not the service. So a
control group of Linux limits each worker to a share of a core of its own, and the rest is left to the others. Both
services run at once and are measured in turn.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from bench import cluster, measure, revision, service, workloads
from bench.errors import BenchError
from bench.measure import Figures, Load
from bench.service import START_SECONDS, Seeded, Service
from bench.workloads import WORKLOADS, Dataset
from config.embedded.server import EmbeddedServerError

GROUPS = Path("/sys/fs/cgroup")
PERIOD_MICROSECONDS = 20_000
CONNECTIONS = 32
# Writes a second to prepare.
RATE = 2500
USERS, CONVERSIONS = 1000, 200_000
MEASURED = ("list", "update")


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.4, help="of a core, for each worker (0.4)")
    parser.add_argument("--rounds", type=int, default=5, help="without the warm-up (5)")
    parser.add_argument("--seconds", type=int, default=5, help="of each workload (5)")
    options = parser.parse_args()
    try:
        rounds = _measure(options)
    except (BenchError, EmbeddedServerError, OSError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    for name, pairs in rounds.items():
        more = [two.per_second / one.per_second for one, two in pairs]
        cost = [two.both / one.both for one, two in pairs]
        rates = [round(statistics.median(figures.per_second for figures in side)) for side in zip(*pairs, strict=True)]
        sys.stdout.write(
            f"{name}: {rates[0]}/s by one process, {rates[1]}/s by two: {_spread(more)} times;"
            f" processor time a request {_spread(cost)} times\n"
        )
    return 0


def _measure(options: argparse.Namespace) -> dict[str, list[tuple[Figures, Figures]]]:
    """Return by workload the figures of one and of two processes in each round."""
    rounds: dict[str, list[tuple[Figures, Figures]]] = {name: [] for name in MEASURED}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-bench-")))
        postgres = stack.enter_context(cluster.running(folder / "postgres"))
        seeded = Seeded(revision.present(), postgres, "bench", folder / "bench")
        seeded.fill(users=USERS, conversions=CONVERSIONS)
        sides: list[tuple[Service, Dataset]] = []
        for workers in (1, 2):
            running = stack.enter_context(service.serving(seeded, workers=workers))
            for core, worker in enumerate(_workers(running.pid, workers)):
                stack.enter_context(_limited(worker, options.share, core))
            sides.append((running, workloads.read_dataset(running, postgres)))
        load = Load(options.seconds, CONNECTIONS)
        for number in range(options.rounds + 1):
            for name in MEASURED:
                one, two = (
                    measure.measure(running, postgres, dataset, WORKLOADS[name], load, RATE)
                    for running, dataset in sides
                )
                if number:
                    rounds[name].append((one, two))
    return rounds


def _workers(master: int, count: int) -> list[int]:
    """Wait for a master's workers, which have threads, and return their process numbers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        workers = [process.pid for process in psutil.Process(master).children() if process.num_threads() > 1]
        if len(workers) == count:
            return workers
        time.sleep(0.1)
    raise BenchError("Not all workers have started.")


@contextmanager
def _limited(pid: int, share: float, core: int) -> Iterator[None]:
    """Limit a process to a share of one core, by a control group of version 1 or 2.

    Tried with version 1; version 2 needs the cpu controller enabled for the root's children.
    """
    # Quota that a core has taken and not used would be lost to the others.
    for thread in psutil.Process(pid).threads():
        os.sched_setaffinity(thread.id, {core})
    quota, is_first = round(share * PERIOD_MICROSECONDS), (GROUPS / "cpu").is_dir()
    group = (GROUPS / "cpu" if is_first else GROUPS) / f"psi-bench-{pid}"
    group.mkdir()
    try:
        if is_first:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_MICROSECONDS}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        # A group can be removed when it is empty.
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    sys.exit(main())
