"""Decisions, profile history and timeline name people and say in words what changed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, list_of, words
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
    decide(
        Decision(
            user=user,
            to_status=Status.REJECTED,
            by=factories.StaffFactory.create(),
            reason=NOTE,
            reason_code="notVerified",
        )
    )
    return user


@pytest.fixture
def auditor(db: None) -> Client:
    return client_as("auditor")


def texts(page: str) -> str:
    """The text of a page's rows and fields."""
    return words(page.partition('id="main"')[2])


def is_shown_on_a_click(text: str, page: str) -> bool:
    before, found, _after = page.partition(text)
    return bool(found) and before.rpartition("<details")[2].count("</details>") == 0


def test_a_decision_names_the_user_and_has_its_reason_and_note_in_words(user: User, auditor: Client) -> None:
    change = user.status_changes.get()
    for path in (CHANGES, f"{CHANGES}{change.pk}/change/"):
        text = texts(auditor.get(path).content.decode())
        assert "Rejected" in text
        assert "Ngozi Okafor-Gagnon" in text
        assert "Identity or address could not be verified" in text
        assert NOTE in text
        assert not [name for name in NAMES if name in text]


def test_the_profile_history_says_what_changed_and_the_request_on_a_click(user: User, auditor: Client) -> None:
    page = auditor.get(EVENTS).content.decode()
    for said in (
        "Last name: Okafor → Okafor-Gagnon; Occupation: Engineer → Nurse",
        "Status: Pending compliance → Rejected",
        "Submitted",
        "Ngozi Okafor",
    ):
        assert said in texts(page)
    assert not [name for name in NAMES if name in texts(page)]
    renamed = user.events.order_by("pgh_id")[1]
    assert is_shown_on_a_click(renamed.pgh_context["requestId"], page)
    assert "Last name: Okafor → Okafor-Gagnon" in texts(auditor.get(f"{EVENTS}{renamed.pk}/change/").content.decode())


def test_the_case_and_the_access_log_show_request_ids_on_a_click(user: User, auditor: Client) -> None:
    response = auditor.get(case_of(user))
    changed_by = user.events.order_by("pgh_id")[1].pgh_context["requestId"]
    assert is_shown_on_a_click(changed_by, response.content.decode())
    log = auditor.get("/admin/users/accessrecord/").content.decode()
    assert is_shown_on_a_click(response.headers["X-Request-Id"], log)


@pytest.mark.usefixtures("within_one_day")
def test_the_access_log_is_narrowed_to_days(db: None) -> None:
    record = factories.AccessRecordFactory.create()
    today = timezone.localdate(timezone=ZoneInfo("America/Toronto"))
    auditor = factories.StaffFactory.create(role="auditor")

    def found(**days: int) -> list[Any]:
        query = {name: f"{today + timedelta(days=number)}" for name, number in days.items()}
        return list(list_of(auditor, "/admin/users/accessrecord/", **query).result_list)

    assert found() == found(since=0, until=0) == found(since=-1) == [record]
    assert found(since=1) == found(until=-1) == []
