"""The page on which staff begin: its figures, and the lists that they lead to."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from core.database import serving_role
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.plans import planning_without
from tests.support.staff import client_as, client_of, list_of, words
from users.decisions import compliance, proposals
from users.models import Status, User

LANDING = "/admin/"
# As autovacuum keeps a table of production: an index alone answers where all rows are known to be visible to all.
ALL_VISIBLE = """
    SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', %s::text,
                                     'relpages', 1000, 'reltuples', 50000::real, 'relallvisible', 1000)
"""
NOW = ["Waiting for compliance", "Late", "Waiting for the partner", "Overdue answers"]


def figures_on(page: str) -> dict[str, tuple[str, str]]:
    """The text and the address of each figure; of decisions, those of the last 30 days."""
    cards = re.findall(r'<dt>([^<]*)</dt><dd class="bo-value[^"]*"><a href="([^"]*)">([^<]*)</a>', page)
    return {title: (text, unescape(url)) for title, url, text in cards}


def landing(role: str) -> str:
    return client_as(role).get(LANDING).content.decode()


def rows_at(staff: Staff, url: str) -> int:
    """The number of rows of the list at this address."""
    if "/records/" in url:
        return int(client_of(staff).get(url).context["due"])
    return int(list_of(staff, url).result_count)


# What those see who see all of a user.
OF_IDENTITY = ("For a second person", "Screening", "Reviews", "Requests", "Due for erasure")


@pytest.fixture
def users(partner: Partner) -> list[User]:
    """One in each status; the last two wait for a decision, one of them after its partner was asked."""
    statuses = (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED, *[Status.PENDING_COMPLIANCE] * 2)
    made = [factories.UserFactory.create(partner=partner, status=status) for status in statuses]
    factories.RequirementFactory.create(user=made[5])
    return made


def test_a_role_sees_the_figures_of_its_lists(db: None) -> None:
    """That a role sees these lists is in its table (tests/staff/test_roles_table.py)."""
    pages = {role: landing(role) for role in ("viewer", "reviewer", "auditor", "superuser")}
    decisions = ["Decisions", "Within the target"]
    every = [*NOW, *OF_IDENTITY, *decisions]
    wanted = {"viewer": [*NOW, *decisions], "reviewer": every, "auditor": every, "superuser": every}
    assert {role: [*figures_on(page)] for role, page in pages.items()} == wanted
    # Who claims goes on to the next case.
    assert {role for role, page in pages.items() if "Next case" in words(page)} == {"reviewer", "superuser"}
    # Without decisions there is no share.
    assert [figures_on(pages["auditor"])[title][0] for title in decisions] == ["0", "–"]


def test_who_sees_no_users_begins_at_what_they_manage_or_is_told_that_they_have_no_role(db: None) -> None:
    places = {"partner-manager": "/admin/partners/partner/", "administrator": "/admin/staff/staff/"}
    assert {role: client_as(role).get(LANDING).headers["Location"] for role in places} == places
    assert "Your account has no role" in landing("nobody")


def test_a_post_is_not_allowed(db: None) -> None:
    assert client_as("superuser").post(LANDING).status_code == 405


@pytest.mark.usefixtures("within_one_day")
def test_each_figure_is_the_number_of_the_rows_that_it_leads_to(users: list[User], settings: Settings) -> None:
    root = factories.StaffFactory.create(role="")
    client = client_of(root)
    with no_rules_left():
        set_rule("always")
        proposals.propose(
            compliance.Decision(user=users[4], to_status="active", by=factories.StaffFactory.create(), reason="Seen.")
        )
        page = client.get(LANDING).content.decode()
        found = figures_on(page)
        shown = {title: int(found[title][0]) for title in (*NOW, *OF_IDENTITY, "Decisions")}
        assert {title: rows_at(root, found[title][1]) for title in shown} == shown
        # Who waits is late, and no decision was in time.
        settings.COMPLIANCE_TARGET_HOURS = 0
        late_page = client.get(LANDING).content.decode()
        late = figures_on(late_page)
        assert rows_at(root, late["Late"][1]) == 1
    assert [shown[title] for title in (*NOW, "For a second person")] == [1, 0, 1, 0, 1]
    assert late["Late"][0] == "1"
    assert 'class="bo-value bo-late"' in late_page
    assert [one["Within the target"][0] for one in (found, late)] == ["100%", "0%"]
    # Two of the five were made active first.
    assert shown["Decisions"] == 6
    outcomes = re.findall(r'href="(/admin/users/statuschange/\?since=[^"]*to_status[^"]*)">(\w+): (\d+)<', page)
    # Today, and the last 30 days.
    assert [(outcome, int(count)) for _url, outcome, count in outcomes] == 2 * [
        ("Activated", 3),
        ("Rejected", 1),
        ("Suspended", 1),
        ("Closed", 1),
        ("Reopened", 0),
    ]
    assert [rows_at(root, unescape(url)) for url, _outcome, _count in outcomes] == 2 * [3, 1, 1, 1, 0]


def test_sandbox_users_are_not_counted(db: None) -> None:
    user = factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    factories.UserFactory.create(partner=user.partner)
    factories.StatusChangeFactory.create(user=user)
    found = figures_on(landing("superuser"))
    assert {text for text, _url in found.values()} == {"0", "–"}


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
        counts = re.findall(r'<dt>Decisions</dt><dd class="bo-value"><a href="[^"]*">(\d+)<', landing("auditor"))
        assert counts == [today, "1"]
