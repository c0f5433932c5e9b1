"""How much more two processes serve than one: `python -m bench.processes [--share 0.4] [--rounds 5]`, as root.

Where PostgreSQL, wrk and two processes want more cores than there are, what ends first is the cores, and nothing is
learnt of the service. So each worker may use a share of a core of its own and no more, which a control group of Linux
keeps it to, and the others have the rest. Both services run at once and are played in turn.
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
from bench.workloads import WORKLOADS, World
from config.embedded.server import EmbeddedServerError

GROUPS = Path("/sys/fs/cgroup")
# Of the share.
PERIOD_MICROSECONDS = 20_000
CONNECTIONS = 32
# Requests a second to get ready, where they cannot be sent twice.
RATE = 2500
USERS, CONVERSIONS = 1000, 200_000
PLAYED = ("list", "update")


def main() -> int:
    """Measures and prints; the exit status, 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.4, help="of a core, for each worker (0.4)")
    parser.add_argument("--rounds", type=int, default=5, help="besides the one that warms up (5)")
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
    """By workload, of each round: what one process did and what two."""
    rounds: dict[str, list[tuple[Figures, Figures]]] = {name: [] for name in PLAYED}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-bench-")))
        postgres = stack.enter_context(cluster.running(folder / "postgres"))
        seeded = Seeded(revision.present(), postgres, "bench", folder / "bench")
        seeded.fill(users=USERS, conversions=CONVERSIONS)
        sides: list[tuple[Service, World]] = []
        for workers in (1, 2):
            running = stack.enter_context(service.serving(seeded, workers=workers))
            for core, worker in enumerate(_workers(running.pid, workers)):
                stack.enter_context(_limited(worker, options.share, core))
            sides.append((running, workloads.look_around(running, postgres)))
        load = Load(options.seconds, CONNECTIONS)
        for number in range(options.rounds + 1):
            for name in PLAYED:
                one, two = (
                    measure.measure(running, postgres, world, WORKLOADS[name], load, RATE) for running, world in sides
                )
                if number:
                    rounds[name].append((one, two))
    return rounds


def _workers(master: int, count: int) -> list[int]:
    """The processes below a master that answer requests, once there are so many: those with threads."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = [process.pid for process in psutil.Process(master).children() if process.num_threads() > 1]
        if len(found) == count:
            return found
        time.sleep(0.1)
    raise BenchError("Not all workers have started.")


@contextmanager
def _limited(pid: int, share: float, core: int) -> Iterator[None]:
    """Lets a process have so much of a core and nothing of the others, by a control group.

    Of version 1, with which it was tried, or 2, where the cpu controller has to be on for the root's children.
    """
    # What one core has taken of a share and not used would be lost to the others.
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
        # It can be removed once nobody is in it.
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    sys.exit(main())
