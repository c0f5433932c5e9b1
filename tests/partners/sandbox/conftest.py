"""A sandbox partner, and a receiver of its webhooks on this machine."""

import pytest

from partners.models import Mode, Partner
from tests import factories
from tests.partners.webhooks.conftest import authority, delivering, loopback, receiver
from tests.support.client import PartnerClient, Transport
from tests.support.transports import transport

__all__ = ("authority", "delivering", "loopback", "receiver", "transport")


@pytest.fixture
def sandbox_partner(db: None) -> Partner:
    return factories.PartnerFactory.create(mode=Mode.SANDBOX)


@pytest.fixture
def sandbox(sandbox_partner: Partner, transport: Transport) -> PartnerClient:
    return factories.client_of(sandbox_partner, transport)
