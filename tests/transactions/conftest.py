"""Fixtures for tests of conversions and documents."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partners.models import Partner
from tests import factories
from tests.support.client import in_process
from tests.support.documents import faults, folder
from tests.transactions.imports.running import Line

__all__ = ("faults", "folder")


@pytest.fixture
def line(committed_partner: Partner) -> Line:
    """Makes lines for the partner's user; keyword arguments replace fields."""
    client = factories.client_of(committed_partner, in_process)
    assert client.post("/v1/users", factories.user_body(externalId="payer")).status == 201

    def make(number: int = 1, **fields: Any) -> dict[str, Any]:
        return {
            "partner": committed_partner.slug,
            "externalId": "payer",
            "conversionId": f"cv-{number}",
            "createdAt": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
            "type": "conversion",
            "from": {"currency": "CAD", "amount": "100.00"},
            "to": {"currency": "USD", "amount": "71.500"},
            "rate": "0.715",
        } | fields

    return make
