"""The dashboard: permissions, figures and charts."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from backoffice.dashboard import board as boards
from backoffice.dashboard import figures as dashboard_figures
from backoffice.dashboard.period import Period
from partners.db import statements
from tests import factories
from tests.factories import decide
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import Response, in_process
from tests.support.staff import ROLES, client_as, words
from users.decisions import proposals
from users.models import Status, User

DASHBOARD = "/admin/dashboard/"
SEES = {"reviewer", "auditor", "superuser"}


def page(**query: str) -> str:
    return client_as("auditor").get(DASHBOARD, query).content.decode()


def charts(text: str) -> Any:
    match = re.search(r'<script id="dashboard-charts" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert match
    return json.loads(match[1])


def rows_of(text: str, name: str) -> list[list[str]]:
    """The words of the cells of a table."""
    _, _, section = text.partition(f'<h2 id="{name}-title">')
    _, _, body = section.partition("</section>")[0].partition("<tbody>")
    return [
        [words(unescape(cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]


@pytest.fixture
def users(create_user: Callable[..., Response]) -> list[User]:
    """One in each status; the last two have not been decided about, or were and wait again."""
    made = [User.objects.get(pk=create_user(externalId=f"user-{n}").json()["userId"]) for n in range(5)]
    for user, status in zip(made, (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED), strict=False):
        decide(user, status)
    return made


@pytest.mark.django_db
@pytest.mark.parametrize("role", ROLES)
def test_a_role_sees_the_dashboard_or_not(role: str) -> None:
    assert client_as(role).get(DASHBOARD).status_code == (200 if role in SEES else 403)


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["anonymous", "outsider"])
def test_others_are_redirected_to_the_login(role: str) -> None:
    assert client_as(role).get(DASHBOARD).status_code == 302


@pytest.mark.django_db
def test_a_post_is_not_allowed() -> None:
    assert client_as("superuser").post(DASHBOARD).status_code == 405


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "days"), [("7", 7), ("30", 30), ("90", 90), ("", 30), ("31", 30), ("\0", 30)])
def test_the_period_is_one_of_three(asked: str, days: int) -> None:
    text = page(days=asked)
    assert re.findall(r'aria-current="page">(\d+) days', text) == [str(days)]
    assert len(charts(text)["decisions"]["labels"]) == days


@pytest.mark.django_db
def test_an_empty_dashboard_says_so() -> None:
    text = page()
    for said in (
        "The queue is empty.",
        "No decisions in this period.",
        "No waiting users and no decisions",
    ):
        assert said in text
    assert "<canvas" not in text


@pytest.mark.usefixtures("within_one_day")
def test_waiting_and_decisions_are_counted(users: list[User]) -> None:
    figures = dashboard_figures.gather(Period.of_last(7))
    assert (figures.waiting, figures.late) == (1, 0)
    # Two of the five were made active first.
    today = list(figures.by_day.values())[-1]
    assert today.outcomes == {"active": 3, "rejected": 1, "suspended": 1, "closed": 1}
    assert (figures.decisions, figures.before.total) == (today, 0)
    [partner] = figures.partners
    assert (partner.partner, partner.waiting, partner.outcomes.total()) == (users[0].partner, 1, 6)


def test_the_tables_have_the_figures_of_the_charts(users: list[User]) -> None:
    text = page()
    drawn = charts(text)
    assert sum(drawn["waiting"]["values"]) == 1
    assert {one["title"]: sum(one["values"]) for one in drawn["decisions"]["series"]} == {
        "Activated": 3,
        "Rejected": 1,
        "Suspended": 1,
        "Closed": 1,
        "Reopened": 0,
    }
    assert text.count("<canvas") == 4
    assert [row[1:] for row in rows_of(text, "waiting")][:3] == [["In time", "1"], ["In time", "0"], ["Late", "0"]]
    assert rows_of(text, "decisions")[0][1:] == ["3", "1", "1", "1", "0", "6"]
    assert drawn["backlog"]["values"][-1] == int(rows_of(text, "backlog")[0][-1]) == 1


def rows_at(client: Client, url: str) -> int:
    """The number of rows of the list at this address."""
    response = client.get(unescape(url))
    assert response.status_code == 200, url
    return int(response.context["cl"].result_count)


def test_each_figure_and_each_bar_leads_to_the_list_that_it_counts(users: list[User]) -> None:
    client = client_as("auditor")
    text = client.get(DASHBOARD).content.decode()
    content = text.partition('id="main"')[2]
    linked = re.findall(r'<a (?:class="[^"]*" )?href="(/admin/users/[^"]*)">(\d+)</a>', content)
    assert len(linked) > 20
    for url, count in linked:
        assert rows_at(client, url) == int(count), url
    drawn = charts(text)
    assert [rows_at(client, url) for url in drawn["waiting"]["urls"]] == drawn["waiting"]["values"]
    by_day = [sum(values) for values in zip(*(one["values"] for one in drawn["decisions"]["series"]), strict=True)]
    assert rows_at(client, drawn["decisions"]["urls"][-1]) == by_day[-1]
    assert [rows_at(client, url) for url in drawn["partners"]["urls"]] == [6]


def test_late_leads_to_the_late_cases(users: list[User], settings: Settings) -> None:
    client = client_as("reviewer")
    [url] = re.findall(r'<dd class="bo-value"><a href="([^"]*late)">0</a>', client.get(DASHBOARD).content.decode())
    assert rows_at(client, url) == 0
    settings.COMPLIANCE_TARGET_HOURS = 0
    assert rows_at(client, url) == 1


def test_the_chart_of_partners_names_them_as_the_table_does(users: list[User]) -> None:
    namesakes = [factories.PartnerFactory.create(name="Northline Exchange") for _ in range(2)]
    long = factories.PartnerFactory.create(name="Boréal " * 10)
    for partner in (*namesakes, long):
        client = factories.client_of(partner, in_process)
        decide(User.objects.get(pk=client.post("/v1/users", factories.user_body()).json()["userId"]), Status.ACTIVE)
    drawn = charts(page())["partners"]
    assert sorted(drawn["labels"]) == sorted(
        [users[0].partner.name, *["Northline Exchange"] * 2, "Boréal Boréal Boréal Bo…"]
    )
    assert len(drawn["median"]["values"]) == len(drawn["ninetieth"]["values"]) == 4


def test_a_partners_name_cannot_end_the_script(users: list[User]) -> None:
    partner = factories.PartnerFactory.create(name="</script><script>alert(1)</script>")
    factories.client_of(partner, in_process).post("/v1/users", factories.user_body())
    shown = page()
    assert "alert(1)" in shown
    assert "<script>alert" not in shown


def test_the_number_of_statements_does_not_depend_on_the_period(
    users: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    fetch_all = statements.fetch_all

    def note(statement: str, given: Any) -> Any:
        sent.append(statement)
        return fetch_all(statement, given)

    monkeypatch.setattr(statements, "fetch_all", note)
    reader = factories.StaffFactory.create(role="auditor")
    for days in (7, 366):
        boards.gather(reader, Period.of_last(days))
    # Waiting, overdue, decisions, their times; backlog; rejections by reason and by flag; people, reversals, proposals.
    assert len(sent) == 2 * 10


@pytest.mark.django_db
def test_those_who_wait_for_the_partner_are_counted_apart(users: list[User]) -> None:
    factories.RequirementFactory.create(user=users[4])
    suspended = users[2]
    suspended.refresh_from_db()
    factories.RequirementFactory.create(user=suspended)
    figures = dashboard_figures.gather(Period.of_last(7))
    assert (figures.waiting, figures.asked) == (0, 1)
    assert [(one.waiting, one.asked) for one in figures.partners] == [(0, 1)]
    [link] = re.findall(r'<dt>Waiting for the partner</dt><dd class="bo-value"><a href="([^"]*)">1<', page())
    rows = client_as("auditor").get(unescape(link)).context["cl"].result_list
    assert [row.pk for row in rows] == [users[4].pk]


@pytest.mark.django_db
def test_the_time_to_decision_is_shown_with_and_without_the_time_that_waited_for_the_partner(
    users: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = dashboard_figures.DecisionTimes(
        dashboard_figures.Percentiles(7200, 14400), dashboard_figures.Percentiles(3600, 10800), 40, 37
    )
    before = dashboard_figures.DecisionTimes(times.own, times.own, 3, 2)
    found = replace(dashboard_figures.gather(Period.of_last(30)), decision_times=times, times_before=before)
    monkeypatch.setattr(dashboard_figures, "gather", lambda _period: found)
    text = words(page())
    assert "Median time 2 h before: 1 h without the partner: 1 h" in text
    assert "90th percentile 4 h before: 3 h without the partner: 3 h" in text
    # Rounded down: nothing but all is 100.
    assert "Within the target 92 % before: 66 %" in text


@pytest.mark.django_db
def test_the_wait_for_the_partner_is_taken_off(users: list[User]) -> None:
    user = users[4]
    requirement = factories.RequirementFactory.create(user=user)
    factories.answer(requirement)
    decide(user, Status.ACTIVE)
    change = user.status_changes.get()
    assert change.since < change.waiting_since < change.created_at


@pytest.mark.django_db
def test_decisions_by_one_and_by_two_people_stand_side_by_side(users: list[User]) -> None:
    with no_rules_left():
        set_rule("always")
        first, second = factories.StaffFactory.create_batch(2)
        proposal = proposals.propose(user=users[4], to_status="active", by=first, reason="Seen.")
        proposals.approve(proposal_id=proposal.pk, by=second)
        text = words(page())
    # Six by the fixture, of one person each.
    assert "by one person: 6 · by two: 1" in text
    assert "By one person By two" in text
