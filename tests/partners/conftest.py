"""What tests of this app share."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from partners.models import Partner
from tests import factories


@pytest.fixture
def committed_partner(django_db_setup: None, django_db_blocker: Any) -> Iterator[Partner]:
    """A partner outside of any transaction: other sessions see it, and the database's clock runs."""
    with django_db_blocker.unblock():
        yield factories.PartnerFactory.create(slug=f"committed-{secrets.token_hex(8)}")
