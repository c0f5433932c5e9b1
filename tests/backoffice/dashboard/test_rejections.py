"""The dashboard's rejections by reason, flag and reviewer, decisions without an opened case, and overdue answers."""

import csv
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from backoffice.dashboard import rejections
from backoffice.dashboard.period import Period
from tests import factories
from tests.backoffice.dashboard.test_dashboard import DASHBOARD, rows_at, rows_of
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import Response
from tests.support.staff import client_as, client_of, words
from tests.users.deciding import decide_url, decision
from users.decisions import proposals
from users.decisions.compliance import change_status
from users.decisions.risk_flags import FlagCode
from users.models import AccessKind, AccessRecord, Staff, Status, StatusChange, User

Make = Callable[..., User]


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    return lambda **fields: User.objects.get(pk=create_user(**fields).json()["userId"])


@pytest.fixture
def reviewer(db: None) -> Staff:
    return factories.StaffFactory.create(role="reviewer")


def reject(user: User, by: Staff, code: str = "notVerified") -> StatusChange:
    return change_status(user=user, to_status=Status.REJECTED, by=by, reason="Seen.", reason_code=code)


def shown(client: Client) -> str:
    return client.get(DASHBOARD).content.decode()


@pytest.mark.usefixtures("within_one_day")
def test_rejections_are_counted_by_reason_flag_and_reviewer(make: Make, reviewer: Staff) -> None:
    colleague = factories.StaffFactory.create()
    reject(make(isCiroAffiliate=True, email="a@example.com"), reviewer)
    reject(make(isCiroAffiliate=False, email="b@example.com"), reviewer, "fraudSuspected")
    reject(make(isCiroAffiliate=True, email="c@example.com"), colleague)
    text = shown(client_as("auditor"))
    assert rows_of(text, "rejections-by-reason") == [
        ["Identity or address could not be verified", "2", "67 %", "0"],
        ["Fraud suspected", "1", "33 %", "0"],
    ]
    by_flag = {row[0]: row[1] for row in rows_of(text, "rejections-by-flag")}
    assert by_flag["CIRO affiliate"] == "2"
    assert {row[0]: row[2] for row in rows_of(text, "reviewers")} == {reviewer.username: "2", colleague.username: "1"}
    assert "Rejections 3 before: 0" in words(text)


@pytest.mark.django_db
def test_a_flag_that_the_reader_may_not_see_is_not_counted(make: Make, reviewer: Staff) -> None:
    reject(make(province="QC", postalCode="M5X 1A9"), reviewer)
    seen, _before = rejections.gather(Period.of_last(7), [FlagCode.CIRO_AFFILIATE])
    assert FlagCode.POSTAL_CODE not in seen.by_flag
    seen, _before = rejections.gather(Period.of_last(7), list(FlagCode))
    assert seen.by_flag[FlagCode.POSTAL_CODE] == 1


@pytest.mark.django_db
def test_the_period_before_is_beside(make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    reject(make(), reviewer)
    today = Period.of_last(1)
    yesterday, after = today.before, Period(today.first + timedelta(days=1), today.last + timedelta(days=1))
    counts = [[one.total for one in rejections.gather(period, list(FlagCode))] for period in (yesterday, today, after)]
    assert counts == [[0, 0], [1, 0], [0, 1]]


@pytest.mark.usefixtures("within_one_day")
def test_what_one_person_decided_without_opening_leads_to_its_list(make: Make, reviewer: Staff) -> None:
    client, colleague = client_of(reviewer), factories.StaffFactory.create()
    opened, unopened, of_two = make(), make(), make()
    client.post(decide_url(opened), decision(client, opened))
    reject(unopened, reviewer)
    with no_rules_left():
        set_rule("always")
        proposal = proposals.propose(user=of_two, to_status="active", by=colleague, reason="Seen.")
        proposals.approve(proposal_id=proposal.pk, by=reviewer)
        text = shown(client_as("auditor"))
    [row] = [row for row in rows_of(text, "reviewers") if row[0] == reviewer.username]
    assert row[1:5] == ["3", "1", "2", "1"]
    assert "Alone, case not opened 1 before: 0" in words(text)
    url = "/admin/users/statuschange/?opened=alone"
    assert [one.pk for one in client_as("auditor").get(url).context["cl"].result_list] == [
        unopened.status_changes.get().pk
    ]
    assert "You alone, case not opened 1 before: 0" in words(shown(client))


@pytest.mark.usefixtures("within_one_day")
def test_the_list_shows_what_others_did_not_open_to_auditors_only(make: Make, reviewer: Staff) -> None:
    reject(make(), reviewer)
    reject(make(), factories.StaffFactory.create())
    for opened in ("no", "alone"):
        url = f"/admin/users/statuschange/?opened={opened}"
        assert (rows_at(client_as("auditor"), url), rows_at(client_of(reviewer), url)) == (2, 1)
        assert rows_at(client_as("viewer"), url) == 0


@pytest.mark.django_db
def test_the_list_of_decisions_filters_by_flag_and_reason(make: Make, reviewer: Staff) -> None:
    reject(make(isCiroAffiliate=True), reviewer, "fraudSuspected")
    reject(make(isCiroAffiliate=False, email="other@example.com"), reviewer)
    client = client_as("auditor")
    for query, rows in (
        ("flag=ciroAffiliate", 1),
        ("flag=unheardOf", 2),
        ("reason_code=fraudSuspected", 1),
        ("reason_code=none", 0),
        (f"by__id__exact={reviewer.pk}", 2),
        ("by__id__exact=0", 0),
    ):
        assert rows_at(client, f"/admin/users/statuschange/?{query}") == rows, query
    # Postal codes are part of the identity, which viewers may not see: their list has no such filter.
    assert "flag=postalCode" not in client_as("viewer").get("/admin/users/statuschange/").content.decode()


@pytest.mark.django_db
def test_overdue_answers_are_counted_and_lead_to_their_list(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make()
    factories.RequirementFactory.create(user=user, due_in_days=1)
    assert "Overdue answers 0" in words(shown(client_as("auditor")))
    later = timezone.now() + timedelta(days=2)
    monkeypatch.setattr(timezone, "now", lambda: later)
    auditor = client_as("auditor")
    text = shown(auditor)
    assert "Overdue answers 1" in words(text)
    [row] = rows_of(text, "partners")
    assert row[1:5] == ["0", "0", "1", "1"]
    [url] = re.findall(r'<dd class="bo-value bo-late"><a href="([^"]*due=overdue)">1</a>', text)
    assert rows_at(auditor, url) == 1


# CSV


def table_of(client: Client, name: str, **query: str) -> list[list[str]]:
    response = client.get(f"/admin/dashboard/{name}.csv", query)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert f'attachment; filename="{name}-' in response["Content-Disposition"]
    return list(csv.reader(response.content.decode("utf-8-sig").splitlines()))


@pytest.mark.usefixtures("within_one_day")
def test_each_table_of_the_page_is_a_file_of_the_same_rows(make: Make, reviewer: Staff) -> None:
    reject(make(), reviewer)
    make()
    client = client_as("auditor")
    text = shown(client)
    names = re.findall(r'href="/admin/dashboard/([a-z-]+)\.csv\?since', text)
    assert len(names) == 8
    for name in names:
        heading, *rows = table_of(client, name)
        assert len(rows) == len(rows_of(text, name))
        assert {len(row) for row in rows} == {len(heading)}
    heading, [partner] = (rows := table_of(client, "partners"))[0], rows[1:]
    times = dict(zip(heading, partner, strict=True))
    assert times["Within the target (%)"] == "100"
    assert times["Median (hours)"] == times["Median without the partner (hours)"] == "0.0"
    assert times["Within the target in the period before (%)"] == ""
    assert table_of(client, "backlog")[1] == [timezone.localdate().isoformat(), "2", "1", "1"]


@pytest.mark.usefixtures("within_one_day")
def test_a_file_has_the_period_that_was_asked_for(make: Make, reviewer: Staff) -> None:
    reject(make(), reviewer)
    before = str(timezone.localdate() - timedelta(days=1))
    rows = table_of(client_as("auditor"), "rejections-by-reason", since=before, until=before)
    assert len(rows) == 1


@pytest.mark.django_db
def test_a_partners_name_is_no_formula(make: Make) -> None:
    partner = factories.PartnerFactory.create(name="=1+1")
    factories.UserFactory.create(partner=partner)
    assert "'=1+1" in [row[0] for row in table_of(client_as("auditor"), "partners")]


@pytest.mark.usefixtures("within_one_day")
def test_a_reviewers_file_has_their_own_figures_and_is_in_the_access_log(make: Make, reviewer: Staff) -> None:
    colleague = factories.StaffFactory.create()
    reject(make(), reviewer)
    reject(make(), colleague)
    assert [row[0] for row in table_of(client_of(reviewer), "reviewers")[1:]] == [reviewer.username]
    assert {row[0] for row in table_of(client_as("auditor"), "reviewers")[1:]} == {
        reviewer.username,
        colleague.username,
    }
    mine, _auditors = AccessRecord.objects.filter(kind=AccessKind.EXPORTED).order_by("pk")
    today = timezone.localdate()
    assert (mine.staff, mine.user) == (reviewer, None)
    assert mine.detail == f"CSV of the dashboard: reviewers, {today - timedelta(days=29)} to {today}"
    # Counts of cases are nobody's.
    table_of(client_as("auditor"), "backlog")
    assert AccessRecord.objects.filter(kind=AccessKind.EXPORTED).count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["users", "proposers"])
def test_a_table_that_the_page_has_not_is_not_found(name: str) -> None:
    assert client_as("auditor").get(f"/admin/dashboard/{name}.csv").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "partner-manager", "administrator", "nobody"])
def test_who_may_not_see_the_page_gets_no_file(role: str) -> None:
    assert client_as(role).get("/admin/dashboard/reviewers.csv").status_code == 403
    assert not AccessRecord.objects.exists()
