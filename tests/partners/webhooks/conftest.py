"""A receiver on this machine, and `deliver_events` as production runs it."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from partners.models import Partner, WebhookEndpoint
from partners.webhooks import endpoints
from tests.live.conftest import production
from tests.support.receiver import Authority, Receiver
from tests.support.timeouts import WAIT_SECONDS


@dataclass(frozen=True)
class Process:
    """A running `deliver_events`. log: its output."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def receiver(authority: Authority) -> Iterator[Receiver]:
    with authority.receiver() as receiver:
        yield receiver


@pytest.fixture
def loopback(settings: Any, authority: Authority) -> None:
    """Webhooks may go to this machine."""
    settings.DEBUG = settings.WEBHOOK_ALLOW_LOOPBACK = True
    settings.WEBHOOK_CA_BUNDLE = str(authority.bundle)


@pytest.fixture
def add_endpoint(loopback: None) -> Callable[..., tuple[WebhookEndpoint, str]]:
    """Add an endpoint at a receiver; return it and its secret."""

    def add(partner: Partner, receiver: Receiver, **fields: Any) -> tuple[WebhookEndpoint, str]:
        return endpoints.add_endpoint(partner=partner, url=receiver.url, **fields)

    return add


@pytest.fixture
def delivering(authority: Authority, tmp_path: Path) -> Any:
    """Run `deliver_events` while the block runs."""

    @contextmanager
    def run(**environment: str) -> Iterator[Process]:
        log = tmp_path / f"log-{secrets.token_hex(4)}"
        given = production(DEBUG="true", WEBHOOK_ALLOW_LOOPBACK="true", WEBHOOK_CA_BUNDLE=str(authority.bundle))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "deliver_events"],
                env=os.environ | given | environment,
                cwd=Path(settings.BASE_DIR),
                stdout=output,
                stderr=output,
            )
        try:
            yield Process(process, log)
        finally:
            process.terminate()
            process.wait(timeout=WAIT_SECONDS)

    return run
