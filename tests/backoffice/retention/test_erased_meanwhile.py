"""What staff meet of a user who is erased while their page loads: a page that is not there, never a 500."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.db import connections
from pytest_django import Settings

from core.database import serving_role
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.at_once import wait_for_sessions
from tests.support.erasing import approve_erasure, date_back, erase
from tests.support.staff import client_of
from users.decisions.decision_basis import version_of
from users.models import User

pytestmark = pytest.mark.usefixtures("committed_partner")


@pytest.fixture(autouse=True)
def without_factor(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False


@pytest.fixture
def staff(committed_partner: Partner) -> Iterator[Staff]:
    made: Staff = factories.StaffFactory.create(username=f"s-{uuid.uuid4().hex[:12]}", role="")
    yield made
    connections.close_all()


@pytest.fixture
def user(committed_partner: Partner) -> User:
    made: User = factories.UserFactory.create(
        partner=committed_partner, external_id=f"going-{uuid.uuid4()}", status="rejected"
    )
    date_back(made.pk, datetime(2015, 6, 1, tzinfo=UTC))
    return made


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", None),
        ("decide/", {"to_status": "pendingCompliance", "reason_code": "other", "reason": "x", "then": "stay"}),
        ("note/", {"note": "Called."}),
        ("hold/", {"note": "Litigation."}),
        ("evidence/", {}),
        ("copy/", {"language": "en"}),
    ],
)
def test_a_page_of_somebody_who_is_being_erased_is_not_there(
    path: str, sent: dict[str, str] | None, user: User, staff: Staff
) -> None:
    client = client_of(staff, raise_request_exception=False)
    address = f"/admin/cases/{user.pk}/{path}"

    def ask() -> Any:
        try:
            if sent is None:
                return client.get(address)
            return client.post(address, sent | {"version": version_of(user)})
        finally:
            connections.close_all()

    approve_erasure(user)
    with psycopg.connect(database_url(serving_role.OWNER)) as owner, ThreadPoolExecutor(1) as pool:
        erase(owner, user)
        asked = pool.submit(ask)
        wait_for_sessions(1)
        owner.commit()
        assert asked.result().status_code == 404
