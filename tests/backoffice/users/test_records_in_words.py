"""Decisions, profile history and timeline name people and say in words what changed."""

from collections.abc import Callable
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, words
from tests.users.deciding import case_of
from users.decisions.compliance import Decision, decide
from users.models import Status, User

CHANGES = "/admin/users/statuschange/"
EVENTS = "/admin/users/userevent/"
NOTE = "The passport has expired."
# What the database calls them.
NAMES = ("last_name", "notVerified", "ExternalId", "externalId", "pendingCompliance", "pgh_")


@pytest.fixture
def user(create_user: Callable[..., Response], api: PartnerClient) -> User:
    """Renamed by the partner, then rejected with a note."""
    body = {"externalId": "ngozi", "firstName": "Ngozi", "lastName": "Okafor"}
    user = User.objects.get(pk=create_user(**body).json()["userId"])
    api.patch("/v1/users/ngozi", {"lastName": "Okafor-Gagnon", "occupation": "Nurse"})
    user.refresh_from_db()
    reviewer = factories.StaffFactory.create(role="reviewer")
    decide(Decision(user=user, to_status=Status.REJECTED, by=reviewer, reason=NOTE, reason_code="notVerified"))
    return user


def shown(client: Client, path: str) -> str:
    """The text of a page's rows and fields."""
    return words(client.get(path).content.decode().partition('id="main"')[2])


def test_a_decision_names_the_user_and_has_its_reason_and_note_in_words(user: User) -> None:
    client = client_as("auditor")
    change = user.status_changes.get()
    for path in (CHANGES, f"{CHANGES}{change.pk}/change/"):
        text = shown(client, path)
        assert "Ngozi Okafor-Gagnon" in text
        assert "Identity or address could not be verified" in text
        assert NOTE in text
        assert not [name for name in NAMES if name in text]
    assert "Rejected" in shown(client, CHANGES)


def test_the_profile_history_says_what_changed(user: User) -> None:
    client = client_as("auditor")
    text = shown(client, EVENTS)
    for said in (
        "Last name: Okafor → Okafor-Gagnon; Occupation: Engineer → Nurse",
        "Status: Pending compliance → Rejected",
        "Submitted",
        "Ngozi Okafor",
    ):
        assert said in text
    assert not [name for name in NAMES if name in text]
    renamed = user.events.order_by("pgh_id")[1]
    assert "Last name: Okafor → Okafor-Gagnon" in shown(client, f"{EVENTS}{renamed.pk}/change/")


@pytest.mark.parametrize("path", [EVENTS, "/admin/users/accessrecord/", "case"])
def test_request_ids_are_shown_on_a_click_only(path: str, user: User) -> None:
    client = client_as("auditor")
    request_id = client.get(case_of(user)).headers["X-Request-Id"]
    if path != "/admin/users/accessrecord/":
        request_id = user.events.order_by("pgh_id")[1].pgh_context["requestId"]
    page = client.get(case_of(user) if path == "case" else path).content.decode()
    assert request_id in page
    before = page.partition(request_id)[0]
    assert before.rpartition("<details")[2].count("</details>") == 0


def test_the_access_log_is_narrowed_to_days(user: User) -> None:
    reviewer, auditor = client_as("reviewer"), client_as("auditor")
    reviewer.get(f"/admin/cases/{user.pk}/")
    today = timezone.localdate(timezone=ZoneInfo("America/Toronto"))

    def found(**days: int) -> int:
        query = {name: f"{today + timedelta(days=number)}" for name, number in days.items()}
        return len(auditor.get("/admin/users/accessrecord/", query).context["cl"].result_list)

    assert found() == found(since=0, until=0) == found(since=-1) == 1
    assert found(since=1) == found(until=-1) == 0
