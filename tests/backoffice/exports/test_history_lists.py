"""Decisions and the access log by period, as CSV."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from backoffice.exports.lists import HistoryForm
from tests import factories
from tests.backoffice.exports.test_exports import body, plan_of_next_batch
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as
from users.models import AccessRecord, Status, User

DECISIONS, ACCESSES = "/admin/exports/decisions.csv", "/admin/exports/access-log.csv"


def rows(path: str, **filters: str) -> list[dict[str, str]]:
    sent = body(client_as("auditor").post(path, filters)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(sent)))


def day(days: int) -> str:
    return (datetime.now(UTC).astimezone(ZoneInfo("America/Toronto")).date() + timedelta(days=days)).isoformat()


def test_each_row_is_there_once_however_many_are_read_at_once(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backoffice.exports.records.BATCH_SIZE", 2)
    for status in (Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE, Status.CLOSED):
        factories.StatusChangeFactory.create(user=ada, to_status=status)
        ada.refresh_from_db()
    assert [row["to"] for row in rows(DECISIONS)] == ["active", "suspended", "active", "closed"]


def test_a_decision_has_user_people_and_reason(ada: User) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    factories.StatusChangeFactory.create(user=ada, to_status=Status.ACTIVE, by=reviewer, reason="=1+1")
    [row] = rows(DECISIONS)
    told = {"externalId": "ada", "partner": ada.partner.slug, "mode": "live", "firstName": ada.first_name}
    told |= {"from": "pendingCompliance", "to": "active", "by": reviewer.get_username(), "proposedBy": ""}
    assert row == row | told | {"userId": str(ada.pk), "reason": "'=1+1"}
    assert datetime.fromisoformat(row["at"]).tzinfo


def test_the_access_log_has_who_did_what_with_whose_records(ada: User) -> None:
    client_as("reviewer").get(f"/admin/cases/{ada.pk}/")
    first, second = rows(ACCESSES)
    assert (first["what"], first["externalId"], first["detail"]) == ("opened", "ada", "")
    # The export itself, which is no user's.
    assert (second["what"], second["externalId"], second["detail"]) == ("exported", "", "CSV of access-log: all")


@pytest.mark.usefixtures("within_one_day")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"since": "today", "until": "today"}, ["ada", "carol"]),
        ({"since": "tomorrow"}, []),
        ({"until": "yesterday"}, []),
        ({"partner": "first"}, ["ada"]),
    ],
    ids=str,
)
def test_they_are_filtered(filters: dict[str, str], found: list[str], ada: User, other_api: PartnerClient) -> None:
    other_api.post("/v1/users", factories.user_body(externalId="carol"))
    for user in User.objects.all():
        factories.decide(user, Status.ACTIVE)
    words = {"today": day(0), "tomorrow": day(1), "yesterday": day(-1), "first": ada.partner.slug}
    given = {name: words[value] for name, value in filters.items()}
    assert sorted(row["externalId"] for row in rows(DECISIONS, **given)) == found
    detail = ", ".join(f"{name} {value}" for name, value in given.items())
    record = AccessRecord.objects.get()
    assert (record.user, record.detail) == (None, f"CSV of decisions: {detail}")


@pytest.mark.usefixtures("within_one_day")
def test_users_are_found_by_the_day_of_a_decision(ada: User, create_user: Callable[..., Response]) -> None:
    create_user(externalId="bob")
    factories.decide(ada, Status.ACTIVE)
    for filters, found in (
        ({"decided_from": day(0), "decided_to": day(0)}, ["ada"]),
        ({"decided_to": day(-1)}, []),
        ({"decided_from": day(0), "status": "rejected"}, []),
    ):
        assert [one["externalId"] for one in rows("/admin/exports/users.csv", **filters)] == found, filters


def test_sandbox_decisions_are_listed_where_they_are_asked_for(ada: User, sandbox: PartnerClient) -> None:
    sandbox.post("/v1/users", factories.user_body(externalId="carol"))
    for user in User.objects.all():
        factories.decide(user, Status.ACTIVE)
    for mode, external_id in (("live", "ada"), ("sandbox", "carol")):
        assert [(one["externalId"], one["mode"]) for one in rows(DECISIONS, mode=mode)] == [(external_id, mode)]


@pytest.mark.parametrize("path", [DECISIONS, ACCESSES])
def test_an_invalid_period_is_refused_and_nothing_is_recorded(path: str, ada: User) -> None:
    response = client_as("auditor").post(path, {"since": "2026-02-02", "until": "2026-02-01"})
    assert "This is before the first day." in response.content.decode()
    assert not AccessRecord.objects.exists()


@pytest.mark.parametrize("name", ["decisions", "access-log"])
def test_a_period_is_a_range_of_an_index(name: str, ada: User) -> None:
    factories.decide(ada, Status.ACTIVE)
    factories.AccessRecordFactory.create(user=ada)
    form = HistoryForm({"since": "2026-01-01", "until": "2999-12-31"})
    assert form.is_valid()
    index = {"decisions": "status_change_live", "access-log": "access_by_time"}[name]
    assert f"using {index}" in (plan := plan_of_next_batch(name, form))
    assert "created_at < '3000-01-01" in plan.partition("Index Cond: ")[2].partition("\n")[0]


@pytest.mark.parametrize("name", ["statuschange", "accessrecord"])
def test_the_list_leads_to_the_export_of_its_period(name: str, ada: User) -> None:
    client = client_as("auditor")
    query = "since=2026-01-01&amp;until=&amp;mode=sandbox#history-title"
    page = client.get(f"/admin/users/{name}/?mode=sandbox{'&since=2026-01-01' * (name == 'statuschange')}")
    if name == "accessrecord":
        query = query.replace("2026-01-01", "")
    assert f'href="/admin/exports/?{query}"' in page.content.decode()
    form = client.get(f"/admin/exports/?{query.replace('&amp;', '&')}").content.decode().partition("history-title")[2]
    assert ('value="2026-01-01"' in form) == (name == "statuschange")
    assert '<option value="sandbox" selected>' in form


def test_who_may_not_export_is_led_to_no_export(ada: User) -> None:
    assert "/admin/exports/" not in client_as("reviewer").get("/admin/users/statuschange/").content.decode()
