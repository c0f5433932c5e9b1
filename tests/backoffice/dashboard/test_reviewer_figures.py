"""The dashboard's figures of those who decide."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from backoffice.dashboard import reviewer_figures
from backoffice.dashboard.figures import compose
from backoffice.dashboard.period import Period
from backoffice.dashboard.reviewer_figures import gather
from partners.db import serving_role
from tests import factories
from tests.backoffice.dashboard.test_dashboard_figures import ALL_VISIBLE
from tests.support.client import Response
from tests.support.plans import planning_without
from tests.support.staff import client_as, client_of
from tests.users.deciding import decide_url, decision
from users.models import DecisionBasis, Staff, Status, User

Make = Callable[[], User]


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    return lambda: User.objects.get(pk=create_user().json()["userId"])


@pytest.fixture
def reviewer(db: None) -> Staff:
    return factories.StaffFactory.create(role="reviewer")


def move(user: User, to_status: Status, by: Staff) -> None:
    factories.StatusChangeFactory.create(user=user, to_status=to_status, by=by)


def figures(**options: Staff) -> dict[str, tuple[int, int, int, int | None]]:
    return {
        one.staff.username: (one.decisions, one.unopened, one.reversals, one.median_seconds)
        for one in gather(Period.of_last(7), {}, **options)
    }


def test_a_decision_without_an_opened_case_is_counted_as_one(make: Make, reviewer: Staff) -> None:
    client = client_of(reviewer)
    opened, other = make(), make()
    client.post(decide_url(opened), decision(client, opened))
    move(other, Status.ACTIVE, reviewer)
    [opened_for] = DecisionBasis.objects.filter(open_seconds__isnull=False).values_list("open_seconds", flat=True)
    assert figures() == {reviewer.username: (2, 1, 0, opened_for)}


def test_a_reversal_counts_for_the_person_whose_decision_it_undoes(make: Make, reviewer: Staff) -> None:
    rejected, approved, closed, colleague = make(), make(), make(), factories.StaffFactory.create()
    for user, undone, undoing in (
        (rejected, Status.REJECTED, Status.PENDING_COMPLIANCE),
        (approved, Status.ACTIVE, Status.SUSPENDED),
        (closed, Status.ACTIVE, Status.CLOSED),
    ):
        move(user, undone, reviewer)
        move(user, undoing, colleague)
    assert figures() == {reviewer.username: (3, 3, 2, None), colleague.username: (3, 3, 0, None)}


def test_a_reversal_after_thirty_days_is_none(make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make()
    move(user, Status.ACTIVE, reviewer)
    move(user, Status.SUSPENDED, reviewer)
    monkeypatch.setattr(reviewer_figures, "REVERSAL_DAYS", 0)
    assert figures() == {reviewer.username: (2, 2, 0, None)}


def test_sandbox_users_are_not_counted(reviewer: Staff) -> None:
    user = factories.UserFactory.create(partner=factories.PartnerFactory.create(mode="sandbox"))
    user.refresh_from_db()
    move(user, Status.ACTIVE, reviewer)
    move(user, Status.SUSPENDED, reviewer)
    assert figures() == {}


def test_an_auditor_sees_all_and_a_reviewer_their_own(make: Make, reviewer: Staff) -> None:
    colleague = factories.StaffFactory.create()
    move(make(), Status.ACTIVE, reviewer)
    move(make(), Status.ACTIVE, colleague)

    def table(client: Client) -> str:
        return unescape(client.get("/admin/dashboard/").content.decode()).partition('id="reviewers-title"')[2]

    assert all(one.username in table(client_as("auditor")) for one in (reviewer, colleague))
    assert "Your decisions" in table(client_of(reviewer))[:40]
    assert reviewer.username in table(client_of(reviewer))
    assert colleague.username not in table(client_of(reviewer))
    assert figures(only=reviewer).keys() == {reviewer.username}


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_each_statement_reads_by_index() -> None:
    period = Period.of_last(30)
    bases = compose(reviewer_figures._BASES, reviewer_figures.bases_of(period), period.begins)
    reversals = compose(reviewer_figures._REVERSED, reviewer_figures.reversals_of(period))
    with planning_without("seqscan", "bitmapscan", using=serving_role.OWNER) as cursor:
        for table in ("users_decisionbasis", "users_statuschange"):
            cursor.execute(ALL_VISIBLE, [table])
        plans = []
        for statement, parameters in (bases, reversals):
            cursor.execute("EXPLAIN " + statement, parameters)
            plans.append("\n".join(row[0] for row in cursor))
    assert "Index Only Scan using decision_basis_by_day" in plans[0]
    # The decisions of the period by either index that begins with their time.
    assert re.search("using status_change_(by_day|live) ", plans[1])
    assert "Index Scan using status_change_of_user" in plans[1]
    assert "Seq Scan" not in plans[1]
