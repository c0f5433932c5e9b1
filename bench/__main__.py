"""The cost of a request: `make bench`, or `python -m bench [--workloads list,get] [--against REVISION]`.

Starts the service in production settings on a PostgreSQL of its own that `seed_demo` has filled, sends signed requests
by wrk, and prints processor time a request of server and PostgreSQL, rates and latencies (docs/performance.md).
"""

import argparse
import filecmp
import hashlib
import hmac
import json
import os
import random
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import psycopg

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, SUPERUSER, EmbeddedServer, EmbeddedServerError

CHECKOUT = Path(__file__).resolve().parent.parent
LOCK = Path("requirements", "dev.txt")
WARM_UP_SECONDS = 2
WAIT_SECONDS = 60
CONNECTIONS = "16"
PLAY = str(Path(__file__).with_name("play.lua"))
# Commits are durable, as in production; no checkpoint and no autovacuum comes within a round, as it would be counted.
POSTGRES = [
    "shared_buffers = '512MB'", "max_wal_size = '4GB'", "checkpoint_timeout = '1h'", "autovacuum = off", "fsync = on"
]  # fmt: skip
SECRETS = {name: secrets.token_urlsafe(50) for name in ("SECRET_KEY", "SECRETS_ENCRYPTION_KEYS")}
NEW_USER = {
    "email": "ada@example.com", "firstName": "Ada", "lastName": "Byron", "dateOfBirth": "1990-12-10",
    "addressLine1": "100 King St W", "city": "Toronto", "postalCode": "M5X 1A9", "province": "ON", "country": "CA",
    "occupation": "Engineer", "isCiroAffiliate": False,
}  # fmt: skip
READS = ("list", "list_deep", "users", "events", "get")
WRITES = ("create", "update", "mix")
# wrk must report none of these. ran_out: too few writes were prepared. example: of an unexpected status.
FAILURES = {"connect", "read", "write", "timeout", "unexpected", "example", "ran_out"}
# Requests that wrk sends again and again.
REPEATED = 5000
# Writes are not repeated: so many a second are prepared at first, then a multiple of the highest rate so far.
FIRST_RATE, MARGIN, MIN_RATE = 20_000, 2, 5000
# A process that ends is counted by its parent a moment later.
PAUSE_SECONDS = 0.01


class BenchError(Exception):
    """The benchmark cannot measure, or its figures are not valid; the text says why."""


class Figures(NamedTuple):
    """The cost of a workload. server, database: processor time a request, in µs. p99: in ms."""

    per_second: float
    server: float
    database: float
    p99: float


def make(workload: str, targets: dict[str, list[str]]) -> tuple[str, str, bytes]:
    """Return a request's method, target and body. targets: those of the reads."""
    if workload == "mix":
        [workload] = random.choices(["list", "update", "create"], [80, 15, 5])  # noqa: S311 - no secret
    if workload in READS:
        return "GET", secrets.choice(targets[workload]), b""
    unique = uuid.uuid4().hex
    if workload == "create":
        return "POST", "/v1/users", json.dumps({"externalId": unique} | NEW_USER).encode()
    changes = {"email": f"{unique}@example.com", "addressLine1": f"{unique} King St W", "occupation": unique}
    return "PATCH", secrets.choice(targets["get"]), json.dumps(changes).encode()


class Side:
    """A revision with a database and a running service. folder: its code. home: for its log and documents."""

    def __init__(self, name: str, folder: Path, python: str, postgres: EmbeddedServer, home: Path) -> None:
        self.name, self.folder, self.python, self.postgres, self.home = name, folder, python, postgres, home
        self.database, self.api_key, self.secret = home.name, "", ""
        self.port, self.pids = 0, (0, 0)
        self.rounds: dict[str, list[Figures]] = {}
        self.targets: dict[str, list[str]] = {}

    def environment(self, **further: str) -> dict[str, str]:
        """Return production settings. Each variable is set, so that the checkout's `.env` has no effect."""
        unset = dict.fromkeys(("OWNER_DATABASE_URL", "REDIS_URL", "SECRET_KEY_FALLBACKS", "CSRF_TRUSTED_ORIGINS"), "")
        fixed = {"DEBUG": "false", "STAFF_MFA_REQUIRED": "true", "ALLOWED_HOSTS": "127.0.0.1", "HOST": "127.0.0.1"}
        # A limit that is never reached.
        fixed |= {"DJANGO_SETTINGS_MODULE": "config.settings", "PARTNER_RATE_LIMIT": "100000000/minute"}
        fixed |= {"DATABASE_URL": self.postgres.url(SERVICE_ROLE, self.database)}
        fixed |= {"DOCUMENT_STORAGE_URL": (self.home / "documents").as_uri()}
        return os.environ | SECRETS | unset | fixed | further

    def seed(self, *, users: int, conversions: int) -> None:
        """Create the database and its rows. Raises BenchError."""
        self.home.mkdir(parents=True)
        execute(self.postgres, "postgres", f'CREATE DATABASE "{self.database}" OWNER "{OWNER_ROLE}"')
        owner = {"OWNER_DATABASE_URL": self.postgres.url(OWNER_ROLE, self.database), "DEBUG": "true"}
        settings: Any = {"folder": self.folder, "environment": self.environment(**owner)}
        run(self.python, "manage.py", "migrate", "--verbosity", "0", **settings)
        counts = ("--users", str(users), "--conversions", str(conversions))
        seeded = json.loads(run(self.python, "manage.py", "seed_demo", *counts, "--json", **settings))
        self.api_key, self.secret = seeded["apiKey"], seeded["secret"]

    @contextmanager
    def running(self, *program: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program of the revision. Its log is written, as in production."""
        with (self.home / "log").open("ab") as log:
            options: Any = {"cwd": self.folder, "env": self.environment(**environment), "stdin": subprocess.DEVNULL}
            process = subprocess.Popen([self.python, *program], stdout=log, stderr=log, **options)  # noqa: S603
        try:
            yield process
        finally:
            process.terminate()
            process.wait()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run the service in one process, and read what it has. Raises BenchError."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        with self.running("-m", "config.serve", PORT=str(self.port)) as process:
            deadline = time.monotonic() + WAIT_SECONDS
            while True:
                with suppress(URLError):
                    self.get("/v1/ping")
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    raise BenchError(f"The server does not start:\n{(self.home / 'log').read_text()[-2000:]}")
                time.sleep(PAUSE_SECONDS)
            self.targets = self.read_targets()
            self.pids = process.pid, int((self.postgres.data / "postmaster.pid").read_text().split()[0])
            yield

    def get(self, target: str) -> Any:
        """Return the JSON of a signed GET. Raises URLError."""
        request = Request(f"http://127.0.0.1:{self.port}{target}", headers=self.headers("GET", target, b""))
        with urlopen(request, timeout=WAIT_SECONDS) as response:  # noqa: S310
            return json.loads(response.read())

    def pages(self, path: str, limit: int) -> Iterator[tuple[str, Any]]:
        """Yield the targets of a list's pages and what they hold."""
        cursor: str | None = ""
        while cursor is not None:
            target = f"{path}?{cursor}limit={limit}"
            page = self.get(target)
            yield target, page
            more = page.get("hasMore", page["nextCursor"])
            cursor = f"cursor={quote(page['nextCursor'], safe='')}&" if more else None

    def read_targets(self) -> dict[str, list[str]]:
        """Return what the reads ask for, once all events are in the feed. Raises BenchError if there is too little."""
        pages = list(self.pages("/v1/users", 25))
        statuses = {
            f"/v1/users/{quote(one['externalId'], safe='')}": one["status"]
            for _, page in pages
            for one in page["items"]
        }
        # The others have no conversions, or fewer.
        active = [user for user, status in statuses.items() if status == "active"]
        lists = [list(self.pages(f"{user}/transactions", 100)) for user in active[:20]]
        deep = [target for found in lists for target, _ in found[1:]]
        if not deep:
            raise BenchError("No list has more than 100 conversions: increase --conversions.")
        events: list[str] = []
        with self.running("manage.py", "deliver_events"):
            while not events or len(events) < len(list(self.pages("/v1/events", 100))):
                events = [target for target, page in self.pages("/v1/events", 100) if page["items"]]
                time.sleep(2)
        listed = [f"{user}/transactions?limit=25" for user in active]
        return {
            "list": listed,
            "list_deep": deep,
            "users": [one for one, _ in pages],
            "events": events,
            "get": [*statuses],
        }

    def headers(self, method: str, target: str, body: bytes) -> dict[str, str]:
        """Return the headers of a request that is signed now, a write under a new key."""
        timestamp, key = datetime.now(UTC).isoformat(), str(uuid.uuid4()) if body else ""
        path, _, query = target.partition("?")
        canonical = "\n".join((method, path, query, timestamp, key, hashlib.sha256(body).hexdigest()))
        signature = hmac.digest(self.secret.encode(), canonical.encode(), "sha256").hex()
        headers = {"Host": "127.0.0.1", "X-Api-Key": self.api_key}
        headers |= {"X-Request-Timestamp": timestamp, "X-Request-Signature": signature}
        write = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Idempotency-Key": key}
        return headers | write if body else headers

    def measure(self, workload: str, seconds: int) -> Figures:
        """Measure a workload. Raises BenchError if a request fails."""
        rates = [figures.per_second for figures in self.rounds.get(workload, ())]
        rate = max(max(rates) * MARGIN, MIN_RATE) if rates else FIRST_RATE
        count = rate * seconds if workload in WRITES else REPEATED
        with tempfile.NamedTemporaryFile(prefix="psi-bench-") as file:
            for method, target, body in (make(workload, self.targets) for _ in range(int(count))):
                headers = map(": ".join, self.headers(method, target, body).items())
                raw = "\r\n".join([f"{method} {target} HTTP/1.1", *headers, "", ""]).encode() + body
                file.write(b"%d\n%b" % (len(raw), raw))
            file.flush()
            command = ["wrk", "-t", "1", "-c", CONNECTIONS, "-d", f"{seconds}s", "--timeout", "10s", "-s", PLAY]
            command += [f"http://127.0.0.1:{self.port}", "--", file.name, "once" if workload in WRITES else "cycle"]
            before = [seconds_of_tree(pid) for pid in self.pids]
            lines = [line for line in run(*command, "200", "201").splitlines() if line.startswith("{")]
            server, database = (seconds_of_tree(pid) - first for pid, first in zip(self.pids, before, strict=True))
        played: dict[str, int] = json.loads(lines[-1]) if lines else {"requests": 0}
        if not (requests := played["requests"]) or any(played[name] for name in FAILURES):
            raise BenchError(f"Requests failed: {played}")
        rate = requests / played["microseconds"] * 1e6
        return Figures(rate, server / requests * 1e6, database / requests * 1e6, played["p99"] / 1e3)


def seconds_of_tree(pid: int) -> float:
    """Return the time of a process and its descendants, ended ones included. Raises BenchError if it has ended."""
    while psutil.pid_exists(pid):
        with suppress(psutil.NoSuchProcess):
            tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
            # Ended processes, such as backends of closed sessions, are in their parent's children_*.
            total = sum(sum(process.cpu_times()[:4]) for process in tree)
            # A process that ends during the sum would be counted twice or not at all.
            if [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)] == tree:
                return total
        time.sleep(PAUSE_SECONDS)
    raise BenchError(f"The measured process {pid} has ended.")


def execute(server: EmbeddedServer, database: str, *statements: str) -> None:
    """Run statements as the superuser, each by itself."""
    with psycopg.connect(server.url(SUPERUSER, database), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def run(*command: str, folder: Path = CHECKOUT, environment: Any = None) -> str:
    """Return the output of a program. Raises BenchError."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BenchError(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout.strip()


def checked_out(revision: str, folder: Path) -> tuple[str, Path, str]:
    """Check a commit out into a new folder, with a `.venv` of its own if its lock file differs. Raises BenchError."""
    commit = run("git", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    # A worktree would stay registered if this process is killed.
    run("git", "clone", "--quiet", "--shared", "--no-checkout", str(CHECKOUT), str(folder))
    run("git", "checkout", "--quiet", "--detach", commit, folder=folder)
    python = Path(sys.executable)
    if not filecmp.cmp(CHECKOUT / LOCK, folder / LOCK, shallow=False):
        run("make", "install", folder=folder)
        python = folder / ".venv" / "bin" / "python"
    return commit[:8], folder, str(python)


def measured(options: argparse.Namespace) -> list[Side]:
    """Start, seed and measure all sides. Raises BenchError."""
    # On the checkout's disk, whose fsync counts.
    parent = CHECKOUT / ".local" / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psi-bench-", dir=parent)))
        postgres = EmbeddedServer(home / "postgres")
        stack.callback(postgres.leave)
        postgres.ensure_running()
        execute(postgres, "postgres", *(f"ALTER SYSTEM SET {setting}" for setting in POSTGRES))
        # Some settings need a restart.
        postgres.leave()
        postgres.ensure_running()
        revisions = [("checkout", CHECKOUT, sys.executable)]
        if options.against:
            sys.stderr.write(f"Checking {options.against} out …\n")
            revisions.append(checked_out(options.against, home / "against"))
        sides = [Side(*one, postgres, home / f"bench_{number}") for number, one in enumerate(revisions)]
        for side in sides:
            sys.stderr.write(f"Seeding for {side.name} …\n")
            side.seed(users=options.users, conversions=options.conversions)
            stack.enter_context(side.serving())
        for number in range(options.rounds + 1):
            play_round(sides, number, options)
    return sides


def play_round(sides: Sequence[Side], number: int, options: argparse.Namespace) -> None:
    """Measure each workload on each side, in alternating order."""
    for side in sides:
        execute(side.postgres, side.database, "VACUUM (ANALYZE)", "CHECKPOINT")
    seconds = options.seconds if number else min(options.seconds, WARM_UP_SECONDS)
    for workload in options.workloads:
        for side in sides if number % 2 else reversed(sides):
            sys.stderr.write(f"round {number} {workload} {side.name}\n")
            figures = side.measure(workload, seconds)
            if number:
                side.rounds.setdefault(workload, []).append(figures)


def report(sides: Sequence[Side]) -> Iterator[str]:
    """Yield the lines of the report: medians, and the ratio of the two sides within each round."""
    yield f"{'':24}{'requests/s':>11}{'server µs':>11}{'PostgreSQL µs':>15}{'sum µs':>8}{'p99 ms':>8}"
    for workload in sides[0].rounds:
        for side in sides:
            middle = Figures(*map(statistics.median, zip(*side.rounds[workload], strict=True)))
            costs = f"{middle.server:>11.0f}{middle.database:>15.0f}{middle.server + middle.database:>8.0f}"
            yield f"{workload:12}{side.name:12}{middle.per_second:>11.0f}{costs}{middle.p99:>8.1f}"
    if len(sides) == 1:
        return
    yield f"\nProcessor time a request, {' : '.join(side.name for side in sides)}; median (from - to)"
    for workload, rounds in sides[0].rounds.items():
        pairs = list(zip(rounds, sides[1].rounds[workload], strict=True))
        both = [(one.server + one.database) / (other.server + other.database) for one, other in pairs]
        yield f"{workload:12}{statistics.median(both):.3f} ({min(both):.3f} - {max(both):.3f})"


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--workloads", default=",".join(READS + WRITES), help="(%(default)s)")
    numbers = {"rounds": 5, "seconds": 5, "users": 400, "conversions": 200_000}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help="(%(default)s)")
    parser.add_argument("--against", metavar="REVISION", help="compare with this commit of the repository")
    parser.add_argument("--smoke", action="store_true", help="test the benchmark; the figures mean nothing")
    options = parser.parse_args()
    if options.smoke:
        vars(options).update(users=40, conversions=5000, rounds=1, seconds=1)
    options.workloads = options.workloads.split(",")
    if not set(options.workloads) <= {*READS, *WRITES}:
        parser.error("--workloads: these alone: " + ", ".join(READS + WRITES))
    return options


def main() -> int:
    """Measure and print; return the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sides = measured(parsed())
    except (BenchError, EmbeddedServerError, URLError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    sys.stdout.write("\n".join(report(sides)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
