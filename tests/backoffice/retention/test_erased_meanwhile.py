"""What staff meet of a user who is erased while their page loads: a page that is not there, never a 500."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import connections
from pytest_django import Settings

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.at_once import wait_for_sessions
from tests.support.erasing import approve_erasure, date_back, erase
from tests.support.staff import client_of
from tests.users.deciding import version_of
from users.models import User

pytestmark = pytest.mark.usefixtures("committed_partner")


@pytest.fixture(autouse=True)
def without_factor(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False


FORMS: dict[str, dict[str, str] | None] = {
    "": None,
    "decide/": {"to_status": "pendingCompliance", "reason_code": "other", "reason": "x", "then": "stay"},
    "note/": {"note": "Called."},
    "hold/": {"note": "Litigation."},
    "evidence/": {},
    "copy/": {"language": "en"},
}


def going(partner: Partner) -> User:
    user: User = factories.UserFactory.create(partner=partner, external_id=f"going-{uuid.uuid4()}", status="rejected")
    date_back(user.pk, datetime(2015, 6, 1, tzinfo=UTC))
    return user


def test_a_page_of_somebody_who_is_being_erased_is_not_there(committed_partner: Partner) -> None:
    staff = factories.StaffFactory.create(username=f"s-{uuid.uuid4().hex[:12]}", role="")
    users = {path: going(committed_partner) for path in FORMS}
    clients = {path: client_of(staff, raise_request_exception=False) for path in FORMS}
    versions = {path: version_of(user) for path, user in users.items()}

    def ask(path: str) -> int:
        address, form = f"/admin/cases/{users[path].pk}/{path}", FORMS[path]
        try:
            if form is None:
                return clients[path].get(address).status_code
            return clients[path].post(address, form | {"version": versions[path]}).status_code
        finally:
            connections.close_all()

    approve_erasure(*users.values())
    with psycopg.connect(database_url(serving_role.OWNER)) as owner, ThreadPoolExecutor(len(FORMS)) as pool:
        for user in users.values():
            erase(owner, user)
        asked = {path: pool.submit(ask, path) for path in FORMS}
        wait_for_sessions(len(FORMS))
        owner.commit()
        assert {path: one.result() for path, one in asked.items()} == dict.fromkeys(FORMS, 404)
