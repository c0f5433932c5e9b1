"""Decisions and the access log by period, as CSV."""

import csv
import io
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from backoffice.exports.lists import LISTS, HistoryForm
from partners.models import Mode, Partner
from tests import factories
from tests.backoffice.exports.test_exports import body, plan_of_next_batch
from tests.support.staff import client_as
from users.models import AccessRecord, Status

DECISIONS, ACCESSES = "/admin/exports/decisions.csv", "/admin/exports/access-log.csv"


def rows(path: str, **filters: str) -> list[dict[str, str]]:
    sent = body(client_as("auditor").post(path, filters)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(sent)))


def test_each_decision_is_there_once_with_user_people_and_reason(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backoffice.exports.records.BATCH_SIZE", 2)
    ada = factories.UserFactory.create(partner=partner, external_id="ada")
    reviewer = factories.StaffFactory.create(role="reviewer")
    moves = (Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE, Status.CLOSED)
    for status in moves:
        factories.StatusChangeFactory.create(user=ada, to_status=status, by=reviewer, reason="=1+1")
    factories.StatusChangeFactory.create(user=factories.UserFactory.create(partner__mode=Mode.SANDBOX))
    found = rows(DECISIONS, partner=partner.slug)
    assert [row["to"] for row in found] == [*moves]
    told = {"externalId": "ada", "partner": partner.slug, "mode": "live", "firstName": ada.first_name}
    told |= {"from": "pendingCompliance", "to": "active", "by": reviewer.get_username(), "proposedBy": ""}
    assert found[0] == found[0] | told | {"userId": str(ada.pk), "reason": "'=1+1"}
    assert datetime.fromisoformat(found[0]["at"]).tzinfo
    record = AccessRecord.objects.get()
    assert (record.user, record.detail) == (None, f"CSV of decisions: partner {partner.slug}")


def test_the_access_log_has_who_did_what_with_whose_records(partner: Partner) -> None:
    ada = factories.UserFactory.create(partner=partner, external_id="ada")
    factories.AccessRecordFactory.create(user=ada)
    first, second = rows(ACCESSES)
    assert (first["what"], first["externalId"], first["detail"]) == ("opened", "ada", "")
    # The export itself, which is no user's.
    assert (second["what"], second["externalId"], second["detail"]) == ("exported", "", "CSV of access-log: all")


@pytest.mark.usefixtures("within_one_day")
def test_decisions_are_filtered(partner: Partner) -> None:
    factories.UserFactory.create(partner=partner, external_id="ada", status=Status.ACTIVE)
    factories.UserFactory.create(external_id="carol", status=Status.ACTIVE)
    factories.UserFactory.create(external_id="sandy", status=Status.ACTIVE, partner__mode=Mode.SANDBOX)
    today = datetime.now(UTC).astimezone(ZoneInfo("America/Toronto")).date()
    tomorrow, yesterday = str(today + timedelta(days=1)), str(today - timedelta(days=1))
    column = [*LISTS["decisions"].lookups].index("externalId")
    for filters, found in (
        ({"since": str(today), "until": str(today)}, ["ada", "carol"]),
        ({"since": tomorrow}, []),
        ({"until": yesterday}, []),
        ({"partner": partner.slug}, ["ada"]),
        ({"mode": "live"}, ["ada", "carol"]),
        ({"mode": "sandbox"}, ["sandy"]),
    ):
        form = HistoryForm(filters)
        assert form.is_valid(), filters
        assert sorted(row[column] for row in LISTS["decisions"].rows(form)) == found, filters
        said = [f"{name} {value}" for name, value in filters.items() if value != "live"]
        assert form.summary() == (", ".join(said) or "all")


def test_an_invalid_period_is_refused_and_nothing_is_recorded(db: None) -> None:
    client = client_as("auditor")
    for path in (DECISIONS, ACCESSES):
        response = client.post(path, {"since": "2026-02-02", "until": "2026-02-01"})
        assert "This is before the first day." in response.content.decode(), path
    assert not AccessRecord.objects.exists()


@pytest.mark.parametrize(("name", "index"), [("decisions", "status_change_live"), ("access-log", "access_by_time")])
def test_a_period_is_a_range_of_an_index(name: str, index: str, db: None) -> None:
    factories.AccessRecordFactory.create(user=factories.UserFactory.create(status=Status.ACTIVE))
    form = HistoryForm({"since": "2026-01-01", "until": "2999-12-31"})
    assert form.is_valid()
    assert f"using {index}" in (plan := plan_of_next_batch(name, form))
    assert "created_at < '3000-01-01" in plan.partition("Index Cond: ")[2].partition("\n")[0]


@pytest.mark.parametrize("name", ["statuschange", "accessrecord"])
def test_the_list_leads_to_the_export_of_its_period(name: str, db: None) -> None:
    client = client_as("auditor")
    query = "since=2026-01-01&amp;until=&amp;mode=sandbox#history-title"
    page = client.get(f"/admin/users/{name}/?mode=sandbox{'&since=2026-01-01' * (name == 'statuschange')}")
    if name == "accessrecord":
        query = query.replace("2026-01-01", "")
    assert f'href="/admin/exports/?{query}"' in page.content.decode()
    form = client.get(f"/admin/exports/?{query.replace('&amp;', '&')}").content.decode().partition("history-title")[2]
    assert ('value="2026-01-01"' in form) == (name == "statuschange")
    assert '<option value="sandbox" selected>' in form


def test_who_may_not_export_is_led_to_no_export(db: None) -> None:
    assert "/admin/exports/" not in client_as("reviewer").get("/admin/users/statuschange/").content.decode()
