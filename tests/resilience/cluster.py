"""A separate PostgreSQL that a test may stop."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from django.conf import settings

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, EmbeddedServer
from tests.slow.live.conftest import production
from tests.support.client import PartnerClient, Transport
from tests.support.timeouts import WAIT_SECONDS


class Cluster:
    """A running, migrated database with one partner."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self.url = server.url(SERVICE_ROLE)
        self.manage("migrate", "--verbosity", "0")
        self.manage("create_partner", "acme", "--name", "Acme Inc.")
        self._key = json.loads(self.manage("issue_api_key", "acme", "--json"))

    @property
    def environment(self) -> dict[str, str]:
        """That of its commands."""
        return production(DATABASE_URL=self.url, OWNER_DATABASE_URL=self._server.url(OWNER_ROLE))

    def manage(self, *arguments: str, **environment: str) -> str:
        """Return the output of a management command."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=os.environ | self.environment | environment,
            cwd=Path(settings.BASE_DIR),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def client(self, transport: Transport) -> PartnerClient:
        """Return a client of the partner."""
        return PartnerClient(self._key["apiKey"], self._key["secret"], transport)

    def server_process(self) -> int:
        """Return the postmaster's process number."""
        return int((self._server.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def stop(self) -> None:
        """Stop as `pg_ctl stop -m fast` does."""
        self._server.leave()  # this process alone is in it

    def kill(self) -> None:
        """Kill every process of the server at once."""
        server = psutil.Process(self.server_process())
        processes = [server, *server.children()]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=WAIT_SECONDS)

    def start(self) -> None:
        """Start the server again."""
        self._server.ensure_running()


@contextmanager
def own_cluster() -> Iterator[Cluster]:
    """Run a cluster in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="psi-cluster-") as folder:
        server = EmbeddedServer(Path(folder))
        server.ensure_running()
        try:
            yield Cluster(server)
        finally:
            server.leave()
