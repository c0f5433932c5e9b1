"""The service of a revision, with a seeded database, in production settings."""

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

# The partner of bench.load with the most users.
PARTNER = "load-01"
START_SECONDS = 60
# Longer than the service waits for requests.
STOP_SECONDS = 60
_SECRET_CHARACTERS = 50


@dataclass(frozen=True)
class Seeded:
    """A revision with a database of its own, which it fills. folder: for its log and documents."""

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
        """Create the database, its schema and its rows. Raises BenchError."""
        self.folder.mkdir(parents=True)
        self.cluster.create(self.database)
        self.run("manage.py", "migrate", "--verbosity", "0")
        self.run("-m", "bench.load", "--users", str(users), "--conversions", str(conversions), DEBUG="true")

    def issue_key(self) -> tuple[str, str]:
        """Return a new API key of PARTNER and its secret."""
        issued = json.loads(self.run("manage.py", "issue_api_key", PARTNER, "--json"))
        return issued["apiKey"], issued["secret"]

    def production(self, **further: str) -> dict[str, str]:
        """Return production settings. Each variable is set, so that the checkout's `.env` has no effect."""
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
            # Never reached.
            "PARTNER_RATE_LIMIT": "100000000/minute",
            "DOCUMENT_STORAGE_URL": (self.folder / "documents").as_uri(),
        } | further  # fmt: skip

    def run(self, *arguments: str, **environment: str) -> str:
        """Return the output of a Python program of the revision, run as the owner. Raises BenchError."""
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
    """A running service. pid: of its master process. staff_port: for the back office; may be `port`."""

    seeded: Seeded
    pid: int
    port: int
    staff_port: int
    client: SignedClient


@contextmanager
def serving(seeded: Seeded, *, workers: int, staff_apart: bool = False) -> Iterator[Service]:
    """Run the service of a seeded revision. staff_apart: with STAFF_PORT. Raises BenchError."""
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
    # The log is written, as in production.
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
        for listener in {port, staff_port}:
            _await(process, listener, log)
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
