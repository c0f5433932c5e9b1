"""The demo has a user whose records are due for erasure, and one whose are held."""

from collections.abc import Iterator

import pytest
from django.db import connections

from partners.db import serving_role
from partners.models import Partner
from tests import factories
from transactions.demo.old_records import make_due, make_held
from users.records.retention import due_users


@pytest.fixture(autouse=True)
def owner_closed() -> Iterator[None]:
    yield
    connections[serving_role.OWNER].close()


def test_one_is_due_and_one_is_held(committed_partner: Partner) -> None:
    due, held = (
        factories.UserFactory.create(partner=committed_partner, external_id=name, status="rejected")
        for name in ("demo-due", "demo-held")
    )
    by = factories.StaffFactory.create(username="demo-holder")
    for _again in range(2):
        make_due(due)
        make_held(held, by=by)
    listed = {one.external_id: one.held for one in due_users(partner=committed_partner.slug)}
    assert listed == {"demo-due": False, "demo-held": True}
    assert held.holds.count() == 1
