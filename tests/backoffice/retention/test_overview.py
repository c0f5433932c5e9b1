"""The page *Records*: what is due, proposals of two people, and what was destroyed."""

import re
import uuid
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.test import Client
from pytest_django import Settings

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import act, reviewer
from tests.support.erasing import age_erasures, date_back, erase
from tests.support.staff import client_of, words
from users.models import AccessRecord, ErasureProposal, Status, User
from users.retention import place_hold
from users.search import find_erased

pytestmark = pytest.mark.usefixtures("committed_partner")
PAGE = "/admin/records/"


@pytest.fixture(autouse=True)
def without_factor(settings: Settings, committed_partner: Partner) -> None:
    settings.STAFF_MFA_REQUIRED = False
    age_erasures("40 days")


@pytest.fixture
def user(committed_partner: Partner) -> User:
    return due_user(committed_partner)


def due_user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(
        partner=partner,
        external_id=f"due-{uuid.uuid4()}",
        last_name=f"Due{uuid.uuid4().hex[:8]}",
        status=Status.REJECTED,
    )
    # Before those of other tests.
    date_back(made.pk, datetime(2001, 6, 1, tzinfo=UTC))
    return made


def latest() -> str:
    return f"{PAGE}{ErasureProposal.objects.latest('created_at').pk}/"


def propose(client: Client, *users: User) -> Any:
    return client.post(
        f"{PAGE}propose/", {"which": "chosen", "user": [str(user.pk) for user in users], "note": "Years are over."}
    )


def test_one_proposes_another_approves_and_the_page_says_what_was_destroyed(user: User) -> None:
    by, second, maker = reviewer(), reviewer(), reviewer()
    first, other = client_of(by), client_of(second)
    for made in (by, second):
        act(maker, "staff.created", on=made)
    assert user.full_name in words(first.get(PAGE).content.decode())
    assert propose(first, user).status_code == 302
    own = words(first.get(PAGE).content.decode())
    assert "You proposed this: another account approves it." in own
    assert first.post(f"{latest()}approve/").status_code == 409
    shown = words(other.get(PAGE).content.decode())
    assert f"Proposed by {by.username}" in shown
    assert "Users (1 / 1)" in shown
    assert "Approve the erasure" in shown
    assert other.post(f"{latest()}approve/").status_code == 302
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        erase(owner, user)
    left = words(first.get(PAGE).content.decode())
    assert str(user.pk) in left
    assert f"{by.username}, {second.username}" in left
    assert user.last_name not in left
    # With the proposal, whose reason is blanked by now, and with the user.
    assert left.count(f"{maker.username} made, re-roled or reset both accounts within 30 days.") == 2
    # The old link and a search by its userId.
    told = re.compile(r"Erased on .*20\d\d.* under the retention rules\.")
    gone = first.get(f"/admin/cases/{user.pk}/")
    assert gone.status_code == 404
    assert told.search(words(gone.content.decode()))
    assert told.search(words(first.get("/admin/users/user/", {"q": str(user.pk)[:8]}).content.decode()))
    assert [one.pk for one in find_erased(str(user.pk))] == [user.pk]
    pasted = first.post("/admin/users/user/identified/", {"identifiers": str(user.pk), "mode": "live"})
    assert told.search(words(pasted.content.decode()))


def test_a_proposal_is_declined_with_a_reason(user: User) -> None:
    client = client_of(reviewer())
    propose(client, user)
    address = f"{latest()}decline/"
    assert client.post(address, {"note": " "}).status_code == 422
    assert client.post(address, {"note": "A complaint is open."}).status_code == 302
    assert "A complaint is open." in words(client.get(PAGE).content.decode())


def test_nobody_is_proposed_without_a_reason_or_under_a_hold(user: User) -> None:
    by = reviewer()
    client = client_of(by)
    sent = {"which": "chosen", "user": [str(user.pk)], "note": ""}
    assert client.post(f"{PAGE}propose/", sent).status_code == 422
    assert client.post(f"{PAGE}propose/", sent | {"note": "x", "user": ["x"]}).status_code == 400
    assert client.post(f"{PAGE}propose/", {"which": "all", "count": "0", "note": "x"}).status_code == 409
    place_hold(user=user, by=by, reason="Litigation.")
    refused = propose(client, user)
    assert refused.status_code == 409
    assert "are held" in words(refused.content.decode())
    assert by.username in words(refused.content.decode())


def test_the_list_is_exported_as_csv_and_recorded(user: User) -> None:
    by = reviewer()
    response: Any = client_of(by).post(f"{PAGE}due.csv")
    lines = b"".join(response.streaming_content).decode().splitlines()
    assert [line for line in lines if str(user.pk) in line and user.last_name in line]
    assert AccessRecord.objects.filter(staff=by, kind="exported").exists()


def test_a_fresh_factor_is_asked_for(user: User, settings: Settings) -> None:
    client = client_of(reviewer())
    propose(client_of(reviewer()), user)
    settings.STAFF_MFA_REQUIRED = True
    for address in (f"{latest()}approve/", f"{PAGE}due.csv"):
        assert "/admin/account/" in client.post(address).headers["Location"], address
    assert ErasureProposal.objects.latest("created_at").state == "open"
