"""The service of a revision, seeded and started as production starts it."""

import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from bench.cluster import Cluster
from bench.errors import BenchError
from bench.revision import Revision
from partners.client import SignedClient

# bench.load's partner with the most users.
PARTNER = "load-01"
START_SECONDS = 60
# Longer than the service gives requests under way.
STOP_SECONDS = 60
_SECRET_CHARACTERS = 50


@dataclass(frozen=True)
class Seeded:
    """A revision with a database of its own, filled by that revision's commands. folder: for its log and documents."""

    revision: Revision
    cluster: Cluster
    database: str
    folder: Path
    _secrets: dict[str, str] = field(
        default_factory=lambda: {
            name: secrets.token_urlsafe(_SECRET_CHARACTERS) for name in ("SECRET_KEY", "SECRETS_ENCRYPTION_KEYS")
        },
        repr=False,
    )

    def fill(self, *, users: int, conversions: int) -> None:
        """Makes the database, its schema and its rows. Raises BenchError where a command fails."""
        self.folder.mkdir(parents=True)
        self.cluster.create(self.database)
        self._manage("migrate", "--verbosity", "0")
        amounts = ("--users", str(users)), ("--conversions", str(conversions))
        if (self.revision.folder / "bench" / "load").exists():
            self._run("-m", "bench.load", *amounts[0], *amounts[1], DEBUG="true")
        else:  # a revision before 2026-11-22
            self._manage("seed_load", *amounts[0], DEBUG="true")
            self._manage("seed_load_conversions", *amounts[1], DEBUG="true")

    def issue_key(self) -> tuple[str, str]:
        """A new API key of PARTNER, and its secret."""
        issued = json.loads(self._manage("issue_api_key", PARTNER, "--json"))
        return issued["apiKey"], issued["secret"]

    def production(self, **further: str) -> dict[str, str]:
        """An environment as production has it. Each variable is set: a `.env` of the checkout has no say."""
        return os.environ | self._secrets | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "false",
            "STAFF_MFA_REQUIRED": "true",
            "SECRET_KEY_FALLBACKS": "",
            "DATABASE_URL": self.cluster.url(self.database),
            "OWNER_DATABASE_URL": "",
            "REPLICA_DATABASE_URL": "",
            "REDIS_URL": "",
            "ALLOWED_HOSTS": "127.0.0.1",
            "CSRF_TRUSTED_ORIGINS": "",
            "HOST": "127.0.0.1",
            "CLOCK_SKEW_SECONDS": "300",
            # Counted, and never reached.
            "PARTNER_RATE_LIMIT": "100000000/minute",
            "DOCUMENT_STORAGE_URL": (self.folder / "documents").as_uri(),
        } | further  # fmt: skip

    def _manage(self, *arguments: str, **environment: str) -> str:
        return self._run("manage.py", *arguments, **environment)

    def _run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(  # noqa: S603
            [self.revision.python, *arguments],
            cwd=self.revision.folder,
            env=self.production(OWNER_DATABASE_URL=self.cluster.owner_url(self.database), **environment),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BenchError(f"`{' '.join(arguments)}` of {self.revision.name} failed: {done.stderr[-2000:]}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class Service:
    """A running service. pid: of its master process. staff_port: where staff go, which may be the same port."""

    seeded: Seeded
    pid: int
    port: int
    staff_port: int
    client: SignedClient


@contextmanager
def serving(seeded: Seeded, *, workers: int, staff_apart: bool = False) -> Iterator[Service]:
    """The service of a seeded revision while the block runs. Raises BenchError where it does not start.

    staff_apart: whether staff have a process of their own (STAFF_PORT).
    """
    api_key, secret = seeded.issue_key()
    port = _free_port()
    staff_port = _free_port() if staff_apart else port
    environment = seeded.production(
        PORT=str(port),
        STAFF_PORT=str(staff_port) if staff_apart else "0",
        INTERNAL_PORT=str(_free_port()),
        WEB_WORKERS=str(workers),
    )
    log = seeded.folder / f"server-{port}.log"
    # Lines are written as in production, to a file.
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            [seeded.revision.python, "-m", "config.serve"],
            cwd=seeded.revision.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        for each in {port, staff_port}:
            _await(process, each, log)
        yield Service(seeded, process.pid, port, staff_port, SignedClient(f"http://127.0.0.1:{port}", api_key, secret))
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"The server does not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    try:
        connection.request("GET", "/v1/ping")
        connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
