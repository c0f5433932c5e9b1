"""The page on which staff begin: its figures, and the lists that they lead to."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from core.database import serving_role
from partners.models import Mode, Partner
from tests import factories
from tests.factories import decide
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import Response
from tests.support.plans import planning_without
from tests.support.staff import client_as, words
from users.decisions import compliance, proposals
from users.models import Status, User

LANDING = "/admin/"
# As autovacuum keeps a table of production: an index alone answers where all rows are known to be visible to all.
ALL_VISIBLE = """
    SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', %s::text,
                                     'relpages', 1000, 'reltuples', 50000::real, 'relallvisible', 1000)
"""
NOW = ["Waiting for compliance", "Late", "Waiting for the partner", "Overdue answers"]


def figures(client: Client) -> dict[str, tuple[str, str]]:
    """The text and the address of each figure; of decisions, those of the last 30 days."""
    cards = re.findall(
        r'<dt>([^<]*)</dt><dd class="bo-value[^"]*"><a href="([^"]*)">([^<]*)</a>', client.get(LANDING).content.decode()
    )
    return {title: (text, unescape(url)) for title, url, text in cards}


def rows_at(client: Client, url: str) -> int:
    """The number of rows of the list at this address."""
    response = client.get(url)
    assert response.status_code == 200, url
    if "/records/" in url:
        return int(response.context["due"])
    return int(response.context["cl"].result_count)


# What those see who see all of a user.
OF_IDENTITY = ("For a second person", "Screening", "Reviews", "Requests", "Due for erasure")


@pytest.fixture
def users(create_user: Callable[..., Response]) -> list[User]:
    """One in each status; the last two wait for a decision, one of them after its partner was asked."""
    made = [User.objects.get(pk=create_user(externalId=f"user-{n}").json()["userId"]) for n in range(6)]
    for user, status in zip(made, (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED), strict=False):
        decide(user, status)
    factories.RequirementFactory.create(user=made[5])
    return made


@pytest.mark.parametrize(
    ("role", "shown"),
    [
        ("viewer", [*NOW, "Decisions", "Within the target"]),
        ("reviewer", [*NOW, *OF_IDENTITY, "Decisions", "Within the target"]),
        ("auditor", [*NOW, *OF_IDENTITY, "Decisions", "Within the target"]),
        ("superuser", [*NOW, *OF_IDENTITY, "Decisions", "Within the target"]),
    ],
)
def test_a_role_sees_the_figures_of_its_lists(role: str, shown: list[str], db: None) -> None:
    client = client_as(role)
    assert [*figures(client)] == shown
    for _text, url in figures(client).values():
        assert client.get(url).status_code == 200


@pytest.mark.parametrize(
    ("role", "page"), [("partner-manager", "/admin/partners/partner/"), ("administrator", "/admin/staff/staff/")]
)
def test_who_sees_no_users_begins_at_what_they_manage(role: str, page: str, db: None) -> None:
    client = client_as(role)
    response = client.get(LANDING)
    assert (response.status_code, response.headers["Location"]) == (302, page)
    assert client.get(page).status_code == 200


def test_who_has_no_role_is_told_so(db: None) -> None:
    assert "Your account has no role" in client_as("nobody").get(LANDING).content.decode()


def test_a_post_is_not_allowed(db: None) -> None:
    assert client_as("superuser").post(LANDING).status_code == 405


def test_without_decisions_there_is_no_share(db: None) -> None:
    found = figures(client_as("auditor"))
    assert (found["Decisions"][0], found["Within the target"][0]) == ("0", "–")


@pytest.mark.usefixtures("within_one_day")
def test_each_figure_is_the_number_of_the_rows_that_it_leads_to(users: list[User]) -> None:
    client = client_as("superuser")
    with no_rules_left():
        set_rule("always")
        proposals.propose(
            compliance.Decision(user=users[4], to_status="active", by=factories.StaffFactory.create(), reason="Seen.")
        )
        found = figures(client)
        for title in (*NOW, "For a second person", "Due for erasure", "Decisions"):
            text, url = found[title]
            assert rows_at(client, url) == int(text), title
    assert [found[title][0] for title in NOW] == ["1", "0", "1", "0"]
    assert found["For a second person"][0] == "1"
    # Two of the five were made active first.
    assert found["Decisions"][0] == "6"
    text = client.get(LANDING).content.decode()
    outcomes = re.findall(r'href="(/admin/users/statuschange/\?since=[^"]*to_status[^"]*)">(\w+): (\d+)<', text)
    assert [(outcome, int(count)) for _url, outcome, count in outcomes[:5]] == [
        ("Activated", 3),
        ("Rejected", 1),
        ("Suspended", 1),
        ("Closed", 1),
        ("Reopened", 0),
    ]
    # Today, and the last 30 days.
    assert len(outcomes) == 2 * 5
    for url, _outcome, count in outcomes:
        assert rows_at(client, unescape(url)) == int(count)


def test_late_leads_to_the_late_cases(users: list[User], settings: Settings) -> None:
    client = client_as("reviewer")
    settings.COMPLIANCE_TARGET_HOURS = 0
    text, url = figures(client)["Late"]
    assert rows_at(client, url) == int(text) == 1
    assert 'class="bo-value bo-late"' in client.get(LANDING).content.decode()


@pytest.mark.usefixtures("within_one_day")
def test_the_share_within_the_target_is_of_those_who_waited(users: list[User], settings: Settings) -> None:
    client = client_as("auditor")
    assert figures(client)["Within the target"][0] == "100%"
    settings.COMPLIANCE_TARGET_HOURS = 0
    assert figures(client)["Within the target"][0] == "0%"


def test_sandbox_users_are_not_counted(db: None) -> None:
    user = factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    factories.UserFactory.create(partner=user.partner)
    factories.StatusChangeFactory.create(user=user)
    found = figures(client_as("superuser"))
    assert {text for text, _url in found.values()} == {"0", "–"}


def test_who_may_claim_goes_on_to_the_next_case(users: list[User]) -> None:
    assert "Next case" not in words(client_as("auditor").get(LANDING).content.decode())
    client = client_as("reviewer")
    assert "Next case" in words(client.get(LANDING).content.decode())


def test_the_figures_are_read_from_indexes_alone(committed_partner: Partner) -> None:
    factories.StatusChangeFactory.create(user=factories.UserFactory.create(partner=committed_partner))
    client: Any = client_as("superuser")
    with CaptureQueriesContext(connection) as captured:
        client.get(LANDING)
    wanted = {
        'FROM "users_user" WHERE': ("user_waiting", 4),
        'FROM "users_statuschange" WHERE': ("status_change_by_day", 2),
    }
    with planning_without("seqscan", "bitmapscan", using=serving_role.OWNER) as cursor:
        for table in ("users_user", "users_statuschange"):
            cursor.execute(ALL_VISIBLE, [table])
        for source, (index, number) in wanted.items():
            counts = [one["sql"] for one in captured if source in one["sql"] and "COUNT(" in one["sql"]]
            # Who is due has an index of its own, and reads the rows of the few.
            counts = [one for one in counts if "users_due_at" not in one]
            assert len(counts) == number
            for statement in counts:
                cursor.execute("EXPLAIN " + statement)
                plan = "\n".join(row[0] for row in cursor)
                assert f"Index Only Scan using {index}" in plan, plan


def test_days_begin_at_midnight_in_the_time_zone_of_compliance(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    change = factories.StatusChangeFactory.create(user=factories.UserFactory.create())
    day = change.created_at.astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()
    for days, today in ((0, "1"), (1, "0")):
        monkeypatch.setattr("django.utils.timezone.localdate", lambda later=days: day + timedelta(days=later))
        text = client_as("auditor").get(LANDING).content.decode()
        counts = re.findall(r'<dt>Decisions</dt><dd class="bo-value"><a href="[^"]*">(\d+)<', text)
        assert counts == [today, "1"]
