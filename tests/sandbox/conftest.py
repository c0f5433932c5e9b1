"""A sandbox partner, and a receiver of its webhooks on this machine."""

import secrets
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from events.webhooks import addresses
from partners.models import Mode
from tests import factories
from tests.events.webhooks.conftest import authority, loopback, receiver
from tests.support.client import PartnerClient, in_process
from tests.support.documents import folder

__all__ = ("authority", "folder", "loopback", "receiver")


@pytest.fixture
def committed_sandbox(django_db_setup: None, django_db_blocker: Any) -> Iterator[PartnerClient]:
    """A client of a committed partner, which other sessions see."""
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"sandbox-{secrets.token_hex(4)}", mode=Mode.SANDBOX)
        yield factories.client_of(partner, in_process)


@pytest.fixture
def any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every host name resolves to a public address."""
    monkeypatch.setattr(addresses, "look_up", lambda *_: Mock(result=lambda _: []))
