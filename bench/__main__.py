"""The cost of a request: `make bench`, or `python -m bench [--workloads list,get] [--against REVISION]`.

Starts the service in production settings on a seeded PostgreSQL of its own, sends signed requests by wrk, and prints
processor time a request of server and PostgreSQL, rates and latencies. Round 0 warms up and does not count. With
--against, another revision runs too, and the two are measured in turn.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench import cluster, measure, revision, service, workloads
from bench.cluster import Cluster
from bench.errors import BenchError
from bench.measure import Load
from bench.report import Run, Side
from bench.service import Seeded, Service
from bench.workloads import WORKLOADS, Dataset
from config.embedded.server import EmbeddedServerError

# Requests are signed in advance, and signatures are valid for five minutes.
MAX_SECONDS = 120
WARM_UP_SECONDS = 2
# Tests the benchmark; the figures mean nothing.
SMOKE = {"users": 50, "conversions": 10_000, "rounds": 1, "seconds": 1}


class Target(NamedTuple):
    """A running service, its rows, and its figures."""

    service: Service
    dataset: Dataset
    side: Side


def main() -> int:
    """Measure and print; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = _options()
    try:
        run = _run(options)
    except (BenchError, EmbeddedServerError) as error:
        _say(f"bench: {error}")
        return 1
    sys.stdout.write("\n".join(run.lines()) + "\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--workloads", type=_names, default=[*WORKLOADS], help=f"of {','.join(WORKLOADS)} (all)")
    parser.add_argument("--rounds", type=int, default=5, help="without the warm-up (5)")
    parser.add_argument("--seconds", type=int, default=5, help=f"of each workload, at most {MAX_SECONDS} (5)")
    parser.add_argument("--connections", type=int, default=16, help="of wrk (16)")
    parser.add_argument("--users", type=int, default=1000, help="to seed (1000)")
    parser.add_argument("--conversions", type=int, default=1_000_000, help="to seed (1000000)")
    parser.add_argument("--against", metavar="REVISION", help="compare with this commit of the repository")
    parser.add_argument("--smoke", action="store_true", help="test the benchmark with few rows, in a minute")
    options = parser.parse_args()
    if options.smoke:
        vars(options).update(SMOKE)
    if options.seconds > MAX_SECONDS:
        parser.error(f"--seconds: at most {MAX_SECONDS}")
    return options


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(WORKLOADS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return names


def _run(options: argparse.Namespace) -> Run:
    if shutil.which("wrk") is None:
        raise BenchError("wrk is not on the PATH: apt-get install wrk")
    with ExitStack() as stack:
        parent = _parent_folder(options)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-bench-", dir=parent)))
        postgres = stack.enter_context(cluster.running(folder / "postgres"))
        revisions = [revision.present()]
        if options.against:
            _say(f"Checking {options.against} out …")
            revisions.append(revision.checked_out(options.against, folder / "against"))
        targets = []
        for number, code in enumerate(revisions):
            _say(f"Seeding for {code.name} …")
            seeded = Seeded(code, postgres, f"bench_{number}", folder / f"bench_{number}")
            seeded.fill(users=options.users, conversions=options.conversions)
            running = stack.enter_context(service.serving(seeded))
            targets.append(Target(running, workloads.read_dataset(running, postgres), Side(code.name)))
        _measure(targets, postgres, options)
    return Run([target.side for target in targets])


def _parent_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder for all files: on the checkout's disk, whose fsync counts; for a smoke run, the default."""
    if options.smoke:
        return None
    folder = revision.CHECKOUT / ".local" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _measure(targets: list[Target], postgres: Cluster, options: argparse.Namespace) -> None:
    rates: dict[tuple[str, str], float] = {}
    for number in range(options.rounds + 1):
        for target in targets:
            postgres.refresh(target.service.seeded.database)
        load = Load(options.seconds if number else min(options.seconds, WARM_UP_SECONDS), options.connections)
        for name in options.workloads:
            # Alternate the order.
            for target in targets if number % 2 else reversed(targets):
                database = target.service.seeded.database
                known = rates.get((database, name))
                try:
                    figures = measure.measure(target.service, postgres, target.dataset, WORKLOADS[name], load, known)
                except BenchError as error:
                    raise BenchError(f"{name}, {target.side.revision}: {error}") from error
                rates[database, name] = max(known or 0, figures.per_second)
                _say(
                    f"round {number} {name} {target.side.revision}: {figures.per_second:.0f}/s,"
                    f" {figures.server:.0f} + {figures.database:.0f} µs"
                )
                if number:
                    target.side.rounds.setdefault(name, []).append(figures)


def _say(text: str) -> None:
    """Print progress, on standard error."""
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
