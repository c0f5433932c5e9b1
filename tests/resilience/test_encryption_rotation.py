"""Encryption keys are rotated under load, without a failed request."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from django.conf import settings

from core.database import serving_role
from partners.authentication import keys
from partners.models import ApiKey, Partner
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import Server, start_server
from tests.support.client import PartnerClient
from tests.support.timeouts import WAIT_SECONDS

NEW = "rotated-in-0123456789-abcdefghijklmnopqrs"


@contextmanager
def serving(*encryption_keys: str) -> Iterator[Server]:
    """Run the service with these encryption keys, newest first."""
    server = start_server(SECRETS_ENCRYPTION_KEYS=",".join(encryption_keys))
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(timeout=WAIT_SECONDS)


def reencrypt(*encryption_keys: str) -> dict[str, dict[str, int]]:
    """Run the command in batches of one row; return its JSON."""
    given = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRETS_ENCRYPTION_KEYS": ",".join(encryption_keys),
        "DATABASE_URL": database_url(serving_role.SERVING),
        "DEBUG": "true",
    }
    ended = subprocess.run(
        [sys.executable, "manage.py", "reencrypt_secrets", "--batch-size", "1", "--json"],
        cwd=Path(settings.BASE_DIR),
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=True,
    )
    counts: dict[str, dict[str, int]] = json.loads(ended.stdout)
    return counts


class Callers:
    """Partners that send requests with a key each until the block ends."""

    def __init__(self, clients: list[PartnerClient]) -> None:
        self.statuses: list[int] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(client,)) for client in clients]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self, client: PartnerClient) -> None:
        while not self._stop.is_set():
            self.statuses.append(client.get("/v1/ping").status)


def issued(partner: Partner, server: Server, count: int) -> list[PartnerClient]:
    return [factories.client_of(partner, server.transport) for _ in range(count)]


def statuses(clients: list[PartnerClient], server: Server) -> set[int]:
    return {PartnerClient(c.api_key, c.secret, server.transport).get("/v1/ping").status for c in clients}


def test_the_old_encryption_key_is_removed_under_load(committed_partner: Partner) -> None:
    partner, old = committed_partner, settings.SECRETS_ENCRYPTION_KEYS[0]
    try:
        with serving(NEW, old) as server:
            clients = issued(partner, server, 10)
            with Callers(clients[:2]) as callers:
                command = threading.Thread(target=reencrypt, args=(NEW, old))
                command.start()
                for client in clients[6:]:
                    keys.revoke(keys.find(client.api_key))
                # By a process that still encrypts under the old one, as while processes are replaced one by one.
                clients += issued(partner, server, 3)
                command.join()
                # What came behind the command's back is left for its next run.
                reencrypt(NEW, old)
            assert set(callers.statuses) == {200}
            assert len(callers.statuses) > 10
        with serving(NEW) as server:
            assert statuses(clients[:6] + clients[10:], server) == {200}
            assert statuses(clients[6:10], server) == {401}
        assert ApiKey.objects.filter(partner=partner, revoked_at=None).count() == 9
    finally:
        # The other tests' servers have the old key alone. The way back is the same way.
        reencrypt(old, NEW)
