"""Partners' latency while staff work: `python -m bench.staff [--workers 1,2] [--users 100000] [--rounds 3]`.

Sends GET requests for a list by wrk, alone and during each kind of work: exports of all users with fast and with slow
readers, browsers that load a heavy page in a loop. Two services are measured in turn: one on a single port, and one
with a process for staff (STAFF_PORT).
"""

import argparse
import itertools
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

from bench import cluster, measure, revision, service, workloads
from bench.cluster import Cluster
from bench.errors import BenchError
from bench.measure import Figures, Load
from bench.service import Seeded, Service
from bench.workloads import WORKLOADS, Dataset
from config.embedded.server import EmbeddedServerError

# Five seconds, over four connections.
LOAD = Load(5, 4)
EXPORTS = 3
# bench.workloads needs a list with a second page.
LEAST_CONVERSIONS = 200_000
# Of a slow reader: bytes of a read, and the pause after it.
SLOW_BYTES, SLOW_PAUSE_SECONDS = 16 * 1024, 0.1
# After a 503 (partners/streaming.py).
REFUSED_PAUSE_SECONDS = 1.0
EXPORT, PAGE = "/admin/exports/users.csv", "/admin/dashboard/"
# With a fresh second factor, as exports require.
_LOG_IN = """
import django
django.setup()
from allauth.mfa.models import Authenticator
from django.http import HttpRequest
from django.test import Client
from users.staff_login import factors
from users.models import Staff
client, request = Client(), HttpRequest()
request.user, _ = Staff.objects.get_or_create(username="bench", is_staff=True, is_superuser=True)
client.force_login(request.user)
request.session = client.session
factors.record_enrolment(request, Authenticator.Type.TOTP)
request.session.save()
print(request.session.session_key)
"""


@dataclass
class Staff:
    """Staff who work until `stop` is set. answers: the number of responses by status."""

    port: int
    session: str
    answers: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)
    # A CSRF token is valid if cookie and form have the same.
    token: str = "b" * 32

    def export(self, pause: float, size: int) -> None:
        """Export all users repeatedly; after each read of `size` bytes wait `pause` seconds."""
        body = f"csrfmiddlewaretoken={self.token}"
        for response in self._responses("POST", EXPORT, body):
            while response.read(size) and not self.stop.is_set():
                if pause:
                    time.sleep(pause)

    def browse(self) -> None:
        """Load a heavy page repeatedly."""
        for response in self._responses("GET", PAGE, None):
            response.read()

    def _responses(self, method: str, path: str, body: str | None) -> Iterator[HTTPResponse]:
        while not self.stop.is_set():
            connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request(method, path, body, self._headers())
                response = connection.getresponse()
                self.answers[f"{method} {response.status}"] += 1
                yield response
                if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
                    self.stop.wait(REFUSED_PAUSE_SECONDS)
            except (OSError, HTTPException) as error:
                self.answers[f"{method} {type(error).__name__}"] += 1
            finally:
                connection.close()

    def _headers(self) -> dict[str, str]:
        return {
            "Host": "127.0.0.1",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "127.0.0.1",
            "Referer": "https://127.0.0.1/admin/",
            "Cookie": f"__Host-session={self.session}; __Host-csrf={self.token}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Connection": "close",
        }


# The work of staff: one thread for each function.
WORK: dict[str, list[Callable[[Staff], None]]] = {
    "nothing": [],
    "3 exports, fast readers": [lambda staff: staff.export(0, 1 << 20)] * EXPORTS,
    "3 exports, slow readers": [lambda staff: staff.export(SLOW_PAUSE_SECONDS, SLOW_BYTES)] * EXPORTS,
    "3 browsers, dashboard": [Staff.browse] * 3,
    "3 exports, 6 browsers": [lambda staff: staff.export(0, 1 << 20)] * EXPORTS + [Staff.browse] * 6,
}


def main() -> int:
    """Measure and print a table; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2", help="worker processes of each run (1,2)")
    parser.add_argument("--users", type=int, default=100_000, help="to seed (100000)")
    parser.add_argument("--rounds", type=int, default=3, help="without the warm-up (3)")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.stderr.write("bench: wrk is not on the PATH: apt-get install wrk\n")
        return 1
    try:
        _measure(options)
    except (BenchError, EmbeddedServerError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    return 0


def _measure(options: argparse.Namespace) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-bench-")))
        postgres = stack.enter_context(cluster.running(folder / "postgres"))
        seeded = Seeded(revision.present(), postgres, "bench", folder / "bench")
        seeded.fill(users=options.users, conversions=max(LEAST_CONVERSIONS, options.users * 2))
        postgres.refresh("bench")
        seeded.run("manage.py", "collectstatic", "--noinput")
        session = seeded.run("-c", _LOG_IN).split()[-1]
        for workers in map(int, options.workers.split(",")):
            with (
                service.serving(seeded, workers=workers) as together,
                service.serving(seeded, workers=workers, staff_apart=True) as apart,
            ):
                dataset = workloads.read_dataset(together, postgres)
                sides = {"one port": together, "staff apart": apart}
                _compare(sides, postgres, dataset, session, options.rounds)


def _compare(sides: dict[str, Service], postgres: Cluster, dataset: Dataset, session: str, rounds: int) -> None:
    """Measure each kind of work against each side in turn, and print the medians."""
    results: dict[tuple[str, str], list[Figures]] = {}
    for number in range(rounds + 1):
        for work, (name, running) in itertools.product(WORK, sides.items()):
            with _working(Staff(running.staff_port, session), work) as staff:
                figures = measure.measure(running, postgres, dataset, WORKLOADS["list"], LOAD, None)
            sys.stderr.write(f"{work}, {name}: {figures.per_second:.0f}/s; staff: {dict(staff.answers)}\n")
            if number:
                results.setdefault((work, name), []).append(figures)
    sys.stdout.write(f"load average {os.getloadavg()[0]:.1f}\n")
    for (work, name), figures_of_rounds in results.items():
        p50, p99, rate = (
            statistics.median(getattr(figures, what) for figures in figures_of_rounds)
            for what in ("p50", "p99", "per_second")
        )
        sys.stdout.write(f"{work:28} {name:12} p50 {p50:7.1f} ms  p99 {p99:7.1f} ms  {rate:6.0f}/s\n")
    sys.stdout.flush()


@contextmanager
def _working(staff: Staff, work: str) -> Iterator[Staff]:
    """Run the threads of staff."""
    threads = [threading.Thread(target=do, args=[staff], daemon=True) for do in WORK[work]]
    for thread in threads:
        thread.start()
    try:
        yield staff
    finally:
        staff.stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
