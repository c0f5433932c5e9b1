"""How long partners wait while staff export: `python -m bench.staff [--workers 1,2] [--users 100000] [--rounds 3]`.

Plays GET requests for a list by wrk, over a few connections, while nothing else happens, and then beside each kind of
work of staff: three exports of all users read as fast as they come, three that are read slowly, browsers that load a
heavy page in a loop. Two services are played in turn: one in which the same processes answer all, and one in which
staff have a process of their own (STAFF_PORT).
"""

import argparse
import itertools
import os
import shutil
import signal
import statistics
import subprocess
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
from bench.workloads import WORKLOADS, World
from config.embedded.server import EmbeddedServerError

# Five seconds, over four connections.
LOAD = Load(5, 4)
EXPORTS = 3
# Below that no list has a second page, which bench.workloads looks for.
LEAST_CONVERSIONS = 200_000
# What a slow reader takes at once, and how often.
SLOW_BYTES, SLOW_PAUSE_SECONDS = 16 * 1024, 0.1
# After a refusal (partners/streaming.py) a person tries again.
REFUSED_PAUSE_SECONDS = 1.0
EXPORT, PAGE = "/admin/exports/users.csv", "/admin/dashboard/"
# Given its second factor just now, as before an export.
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
    """Staff at work until they are told to stop. answers: how many of each status they got; sizes: bytes read."""

    port: int
    session: str
    answers: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)
    # A CSRF token is valid where cookie and header are the same.
    token: str = "b" * 32

    def export(self, pause: float, size: int) -> None:
        """Exports all users again and again; reads `size` bytes, then waits for `pause` seconds."""
        body = f"csrfmiddlewaretoken={self.token}"
        for response in self._ask("POST", EXPORT, body):
            while response.read(size) and not self.stop.is_set():
                if pause:
                    time.sleep(pause)

    def browse(self) -> None:
        """Loads a heavy page again and again."""
        for response in self._ask("GET", PAGE, None):
            response.read()

    def _ask(self, method: str, path: str, body: str | None) -> Iterator[HTTPResponse]:
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


# What staff do meanwhile: as many threads of each.
WORK: dict[str, list[Callable[[Staff], None]]] = {
    "nothing": [],
    "3 exports, fast readers": [lambda staff: staff.export(0, 1 << 20)] * EXPORTS,
    "3 exports, slow readers": [lambda staff: staff.export(SLOW_PAUSE_SECONDS, SLOW_BYTES)] * EXPORTS,
    "3 browsers, dashboard": [Staff.browse] * 3,
    "3 exports, 6 browsers": [lambda staff: staff.export(0, 1 << 20)] * EXPORTS + [Staff.browse] * 6,
}


def main() -> int:
    """Measures and prints a table; the exit status, 1 where anything failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2", help="processes that serve partners, of each run (1,2)")
    parser.add_argument("--users", type=int, default=100_000, help="to seed (100000)")
    parser.add_argument("--rounds", type=int, default=3, help="not counting the one that warms up (3)")
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
        _run(seeded, "manage.py", "collectstatic", "--noinput")
        session = _run(seeded, "-c", _LOG_IN).split()[-1]
        for workers in map(int, options.workers.split(",")):
            with (
                service.serving(seeded, workers=workers) as together,
                service.serving(seeded, workers=workers, staff_apart=True) as apart,
            ):
                world = workloads.look_around(together, postgres)
                sides = {"one port": together, "staff apart": apart}
                _compare(sides, postgres, world, session, options.rounds)


def _compare(sides: dict[str, Service], postgres: Cluster, world: World, session: str, rounds: int) -> None:
    """Plays each kind of work against each side in turn, and prints the medians."""
    found: dict[tuple[str, str], list[Figures]] = {}
    for number in range(rounds + 1):
        for work, (name, running) in itertools.product(WORK, sides.items()):
            with _working(Staff(running.staff_port, session), work) as staff:
                figures = measure.measure(running, postgres, world, WORKLOADS["list"], LOAD, None)
            sys.stderr.write(f"{work}, {name}: {figures.per_second:.0f}/s; staff got {dict(staff.answers)}\n")
            if number:
                found.setdefault((work, name), []).append(figures)
    sys.stdout.write(f"load average {os.getloadavg()[0]:.1f}\n")
    for (work, name), all_of_it in found.items():
        p50, p99, rate = (
            statistics.median(getattr(figures, what) for figures in all_of_it) for what in ("p50", "p99", "per_second")
        )
        sys.stdout.write(f"{work:28} {name:12} p50 {p50:7.1f} ms  p99 {p99:7.1f} ms  {rate:6.0f}/s\n")
    sys.stdout.flush()


@contextmanager
def _working(staff: Staff, work: str) -> Iterator[Staff]:
    """Staff at work while the block runs."""
    threads = [threading.Thread(target=do, args=[staff], daemon=True) for do in WORK[work]]
    for thread in threads:
        thread.start()
    try:
        yield staff
    finally:
        staff.stop.set()
        for thread in threads:
            thread.join()


def _run(seeded: Seeded, *arguments: str) -> str:
    """What a program of the seeded revision prints, in the service's environment."""
    done = subprocess.run(  # noqa: S603
        [seeded.revision.python, *arguments],
        cwd=seeded.revision.folder,
        env=seeded.production(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"`{arguments[0]}` failed: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
