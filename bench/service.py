"""The service of a revision, with a seeded database, in production settings."""

import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from bench.cluster import Cluster
from bench.errors import BenchError
from bench.revision import Revision
from psi import Client

# The partner of bench.load with the most users.
PARTNER = "load-01"
START_SECONDS = 60
# The service waits less long for its requests.
STOP_SECONDS = 60
_SECRETS = {name: secrets.token_urlsafe(50) for name in ("SECRET_KEY", "SECRETS_ENCRYPTION_KEYS")}


@dataclass(frozen=True)
class Seeded:
    """A revision with a database of its own, which it fills. folder: for its log and documents."""

    revision: Revision
    cluster: Cluster
    database: str
    folder: Path

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
        return os.environ | _SECRETS | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "false",
            "STAFF_MFA_REQUIRED": "true",
            "SECRET_KEY_FALLBACKS": "",
            "DATABASE_URL": self.cluster.url(self.database),
            "OWNER_DATABASE_URL": "",
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
    """A running service. pid: of its first process. key: an API key and its secret."""

    seeded: Seeded
    pid: int
    port: int
    key: tuple[str, str]
    client: Client


@contextmanager
def serving(seeded: Seeded) -> Iterator[Service]:
    """Run the service of a seeded revision, in one process. Raises BenchError."""
    key = seeded.issue_key()
    port = _free_port()
    # Only revisions with a master process read the other three.
    environment = seeded.production(PORT=str(port), STAFF_PORT="0", INTERNAL_PORT=str(_free_port()), WEB_WORKERS="1")
    log = seeded.folder / "server.log"
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
        _await(process, port, log)
        yield Service(seeded, process.pid, port, key, Client(f"http://127.0.0.1:{port}", *key))
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), closing(HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)) as connection:
            connection.request("GET", "/v1/ping")
            connection.getresponse().read()
            return
        time.sleep(0.1)
    raise BenchError(f"The server does not start:\n{log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
