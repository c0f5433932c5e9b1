"""Exports: permissions, contents and the entries in the access log."""

import csv
import gc
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from backoffice.exports import downloads, evidence_pack, lists, records
from core import streaming
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.staff.login.test_login import enrolled, inside
from tests.staff.login.test_reauthentication import confirm, grow_stale
from tests.support.client import in_process
from tests.support.database import undone
from tests.support.internal import REASON
from tests.support.plans import UNORDERED, planning_without
from tests.support.staff import client_as, client_of
from users.models import AccessKind, AccessRecord, Status, User
from users.requirements import close_requirement

FORM = "/admin/exports/"
CSV = f"{FORM}users.csv"


@pytest.fixture(autouse=True)
def streams_end() -> Iterator[None]:
    """A response that a test has not read to its end would keep its place among the downloads until it is collected."""
    yield
    gc.collect()


def evidence_of(user: User) -> str:
    return f"/admin/cases/{user.pk}/evidence/"


def body(response: Any) -> bytes:
    assert response.status_code == 200, response.status_code
    return b"".join(response.streaming_content)


def pack(client: Client, user: User) -> tuple[dict[str, Any], str]:
    """data.json and index.html."""
    with zipfile.ZipFile(io.BytesIO(body(client.post(evidence_of(user))))) as archive:
        assert archive.testzip() is None
        return json.loads(archive.read("data.json")), archive.read("index.html").decode()


def plan_of_next_batch(name: str, form: lists.ExportForm) -> str:
    """How PostgreSQL reads what follows the first batch of a list, which has rows: a range of an index, in order."""
    with planning_without(*UNORDERED) as cursor:
        with CaptureQueriesContext(connection) as sent:
            assert list(lists.LISTS[name].rows(form))
        cursor.execute(f"EXPLAIN {sent[-1]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert re.search(r"Index Cond: .*ROW\(.*created_at, .*id\) > ROW", plan)
    assert "Sort" not in plan
    return plan


# Permissions


def test_an_export_needs_a_fresh_second_factor_and_continues_after_it(ada: User, settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    assert body(client.post(evidence_of(ada)))
    grow_stale(client)
    assert "/confirm/" in client.post(evidence_of(ada)).headers["Location"]
    address = confirm(client, client.post(CSV, {"country": "CA"})).headers["Location"]
    page = client.get(address).content.decode()
    assert [one.detail for one in AccessRecord.objects.all()] == ["Evidence pack"]
    assert f'href="{FORM}"' in page
    [(action, fields)] = re.findall(r'<form method="post" action="([^"]+)" data-submits>(.*?)</form>', page, re.DOTALL)
    given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', fields))
    assert given.keys() == {"csrfmiddlewaretoken", "country"}
    assert b"ada" in body(client.post(action, given))
    assert AccessRecord.objects.latest("id").detail == "CSV of users: country CA"
    assert "data-submits" not in client.get(address).content.decode()


def test_the_pack_of_an_unknown_user_is_not_found(db: None) -> None:
    response = client_as("auditor").post(evidence_of(User(pk="00000000-0000-4000-8000-000000000000")))
    assert response.status_code == 404


# Lists


def test_a_list_is_recorded_before_its_first_byte(partner: Partner) -> None:
    factories.UserFactory.create(partner=partner, external_id="ada", status=Status.ACTIVE)
    factories.UserFactory.create(partner=partner, external_id="bob")
    auditor = factories.StaffFactory.create(role="auditor")
    response = client_of(auditor).post(CSV, {"partner": partner.slug, "status": "active", "country": "ca"})
    record = AccessRecord.objects.get()
    assert (record.kind, record.user, record.staff) == ("exported", None, auditor)
    assert record.detail == f"CSV of users: partner {partner.slug}, status active, country CA"
    assert record.request_id == response.headers["X-Request-Id"]
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="users-\d{8}-\d{6}\.csv"', response.headers["Content-Disposition"])
    assert "no-store" in response.headers["Cache-Control"]
    text = body(response).decode("utf-8-sig")
    assert text.startswith("userId,externalId,partner,mode,status,")
    assert [row["externalId"] for row in csv.DictReader(io.StringIO(text))] == ["ada"]
    # Nobody acts once a download has ended.
    assert connection.begin_with == ""  # type: ignore[attr-defined]


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "＝1+1")
BEHIND_SEMICOLONS = ("x;=1+1", "x; @SUM(A1)", "x;y;-1", 'x;"=1+1', 'x; "" +1;y')


def test_a_list_has_users_under_the_names_of_the_api_and_no_formula(partner: Partner) -> None:
    create = partial(factories.UserFactory.create, partner=partner)
    ada = create(external_id="ada")
    create(external_id="émilie", first_name="Émilie", date_of_birth=date(1985, 2, 28))
    create(external_id="-ada")
    for city in FORMULAS + BEHIND_SEMICOLONS:
        create(external_id=city, city=city)
    sent = body(client_as("auditor").post(CSV)).decode("utf-8-sig")
    rows = {row["externalId"]: row for row in csv.DictReader(io.StringIO(sent))}
    told = {"userId": str(ada.pk), "status": "pendingCompliance", "isCiroAffiliate": "false"}
    assert rows["ada"] == rows["ada"] | told | {"dateOfBirth": "1990-12-10"}
    assert rows["émilie"]["firstName"] == "Émilie"
    assert "'-ada" in rows
    assert {city: rows[f"'{city}"]["city"] for city in FORMULAS} == {city: f"'{city}" for city in FORMULAS}
    # Spreadsheets in French separate cells by semicolons.
    assert [city for city in BEHIND_SEMICOLONS if city in sent] == []
    cells = [cell.lstrip() for row in csv.reader(io.StringIO(sent), delimiter=";") for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
    assert AccessRecord.objects.get().detail == "CSV of users: all"


@pytest.mark.usefixtures("within_one_day")
def test_a_list_is_filtered(partner: Partner) -> None:
    factories.UserFactory.create(partner=partner, external_id="ada")
    factories.UserFactory.create(partner=partner, external_id="bob", country="US", status=Status.ACTIVE)
    other = factories.UserFactory.create(external_id="carol").partner
    today = datetime.now(UTC).astimezone(ZoneInfo("America/Toronto")).date()
    tomorrow, yesterday = str(today + timedelta(days=1)), str(today - timedelta(days=1))
    for filters, found in (
        ({}, {"ada", "bob", "carol"}),
        ({"partner": partner.slug}, {"ada", "bob"}),
        ({"status": "active"}, {"bob"}),
        ({"country": "us"}, {"bob"}),
        ({"partner": other.slug, "country": "US"}, set()),
        ({"created_from": str(today), "created_to": str(today)}, {"ada", "bob", "carol"}),
        ({"created_from": tomorrow}, set()),
        ({"created_to": yesterday}, set()),
        ({"decided_from": str(today), "decided_to": str(today)}, {"bob"}),
        ({"decided_to": yesterday}, set()),
        ({"decided_from": str(today), "status": "rejected"}, set()),
    ):
        form = lists.UserListForm(filters)
        assert form.is_valid(), filters
        assert {row[1] for row in lists.LISTS["users"].rows(form)} == found, filters


def test_invalid_filters_are_refused_and_nothing_is_recorded(db: None) -> None:
    invalid = [
        {"partner": "nobody"},
        {"partner": "\0"},
        {"status": "odd"},
        {"country": "Canada"},
        {"country": "\0\0"},
        {"created_from": "soon"},
        {"created_to": "9999-12-31"},
        {"created_from": "0001-01-01"},
        {"created_to": "2026-02-01", "created_from": "2026-02-02"},
    ]
    assert [[*lists.UserListForm(given).errors] for given in invalid] == [[*given][:1] for given in invalid]
    response = client_as("auditor").post(CSV, {"status": "odd"})
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert not AccessRecord.objects.exists()


def test_a_list_is_read_in_the_order_of_an_index(subtests: pytest.Subtests, partner: Partner) -> None:
    factories.UserFactory.create(partner=partner)
    for filters in (
        {},
        {"status": "pendingCompliance"},
        {"created_from": "2026-01-01"},
        {"status": "pendingCompliance", "country": "CA"},
    ):
        with subtests.test(str(filters)):
            form = lists.UserListForm(filters)
            assert form.is_valid()
            assert "using user_of_partner" in plan_of_next_batch("users", form)


def test_an_export_that_is_cut_off_says_so(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "EXPORT_SECONDS", -1)
    client = client_as("auditor")
    assert body(client.post(CSV)).decode().splitlines()[-1].startswith("INCOMPLETE")
    assert not zipfile.is_zipfile(io.BytesIO(body(client.post(evidence_of(ada)))))


def test_rows_are_read_as_they_are_sent(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [factories.UserFactory.create(partner=partner).external_id for _ in range(5)]
    monkeypatch.setattr(records, "BATCH_SIZE", 2)
    form = lists.UserListForm({})
    assert form.is_valid()
    rows = lists.LISTS["users"].rows(form)
    with CaptureQueriesContext(connection) as sent:
        names = [next(rows)[1] for _ in range(2)]
    # The partners, and a batch.
    assert len(sent) == 2
    assert names + [row[1] for row in rows] == made


# Packs


@dataclass(frozen=True)
class Packed:
    """The pack of a user: what is read from it, and from the database when it was made."""

    user: User
    auditor: Staff
    record: AccessRecord
    data: dict[str, Any]
    page: str


@pytest.fixture(scope="module")
def packed(django_db_setup: None, django_db_blocker: Any) -> Packed:
    """Of a user who was approved on a case that was open, suspended, and approved again after a change."""
    with django_db_blocker.unblock(), undone():
        partner = factories.PartnerFactory.create()
        api = factories.client_of(partner, in_process)
        for external_id in ("ada", "bob"):
            api.post("/v1/users", factories.user_body(externalId=external_id, email=f"{external_id}@example.org"))
        ada = User.objects.get(external_id="ada")
        reviewer, auditor = (factories.StaffFactory.create(role=role) for role in ("reviewer", "auditor"))
        client_of(reviewer).get(f"/admin/cases/{ada.pk}/")
        for status in (Status.ACTIVE, Status.SUSPENDED):
            factories.StatusChangeFactory.create(user=ada, to_status=status, by=reviewer)
        api.patch("/v1/users/ada", {"city": "Ottawa", "addressLine2": ""})
        factories.StatusChangeFactory.create(user=ada, to_status=Status.ACTIVE, by=reviewer)
        factories.add_conversions(ada, [datetime(2026, 1, 15, hour, 30, tzinfo=UTC) for hour in (9, 10, 11)])
        data, page = pack(client_of(auditor), ada)
        return Packed(ada, auditor, AccessRecord.objects.latest("id"), data, page)


def test_a_pack_is_recorded_before_its_first_byte_and_names_the_export(packed: Packed) -> None:
    record = packed.record
    assert (record.kind, record.user_id, record.staff_id) == ("exported", packed.user.pk, packed.auditor.pk)
    assert packed.data["accesses"][-1]["requestId"] == record.request_id
    assert record.request_id in packed.page


def test_a_pack_has_profile_decisions_history_accesses_and_sections(packed: Packed) -> None:
    data = packed.data
    user = data["user"]
    assert (user["userId"], user["city"], user["status"]) == (str(packed.user.pk), "Ottawa", "active")
    assert [(one["from"], one["to"]) for one in data["statusChanges"]] == [
        ("pendingCompliance", "active"),
        ("active", "suspended"),
        ("suspended", "active"),
    ]
    # A program reads whole profiles.
    assert [one["profile"]["city"] for one in data["statusChanges"]] == ["Toronto", "Toronto", "Ottawa"]
    assert [one["city"] for one in data["history"]] == [*["Toronto"] * 3, *["Ottawa"] * 2]
    assert all(one["occupation"] for one in data["history"])
    assert data["history"][0]["by"]["partner"] == packed.user.partner.slug
    assert [one["what"] for one in data["accesses"]] == ["opened", "exported"]
    assert len(data["conversions"]) == 3
    assert "documents" in data
    for text in ("Ottawa", "Suspended", REASON, data["conversions"][0]["conversionId"]):
        assert text in packed.page


def test_the_page_of_a_pack_is_in_words(packed: Packed) -> None:
    assert f"<title>Evidence pack of {packed.user.full_name}</title>" in packed.page
    for words in ("CAD 100.00", "Jan. 15, 2026, 04:30:00 EST (Jan. 15, 2026, 09:30:00 UTC)", "Dec. 10, 1990"):
        assert words in packed.page, words
    assert "2026-01-15T" not in packed.page


def test_the_page_of_a_pack_says_what_a_decision_was_based_on_in_words(packed: Packed) -> None:
    based = packed.page.partition('id="decidedOn"')[2].partition("</section>")[0]
    assert re.search(r"<dt>Case open before</dt><dd>\d+ s</dd>", based)
    assert re.search(r"<dt>Profile as of</dt><dd>[A-Z][^<]* E[SD]T \([^<]* UTC\)</dd>", based)
    for key in ("Open seconds", "Version", "Shown", "+00:00", "Status since</dt><dd>20"):
        assert key not in packed.page, key


def test_the_page_of_a_pack_shows_a_profile_only_where_it_changed(packed: Packed) -> None:
    sections = {
        key: packed.page.partition(f'<section id="{key}"')[2].partition("</section>")[0].split("<article")
        for key in ("statusChanges", "history")
    }
    assert ["Profile at the time" in one for one in sections["statusChanges"][1:]] == [True, False, True]
    assert ["Toronto" in one for one in sections["history"][1:]] == [True, *[False] * 4]
    changed = sections["history"][4]
    assert "Ottawa" in changed
    assert "Engineer" not in changed


def test_a_pack_has_one_user_only_and_its_page_loads_nothing(packed: Packed) -> None:
    assert "bob" not in packed.page
    assert "default-src 'none'" in packed.page
    assert not re.search(r"(?:src|href)=\"(?!#|data\.json|documents/)", packed.page)


def test_values_of_partners_stay_as_they_are_and_are_escaped_on_the_page(db: None) -> None:
    hostile = "<script>alert(1)</script><!-- parts -->"
    user = factories.UserFactory.create(
        external_id="active", city="rejected", province="closed", occupation=hostile, last_name="O'Brien & <b>Co</b>"
    )
    data, page = pack(client_as("auditor"), user)
    assert data["user"]["occupation"] == hostile
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>Co" not in page
    # Statuses are in words, not values that are the same.
    for value in ("active", "closed", "rejected"):
        assert re.search(rf">\s*{value}\s*<", page), value
    assert str(Status.PENDING_COMPLIANCE.label) in page


def test_a_pack_is_streamed_row_by_row(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def endless(_user: User) -> Iterator[dict[str, int]]:
        nonlocal made
        while True:
            made += 1
            yield {"number": made}

    monkeypatch.setattr(records, "conversions", endless)
    monkeypatch.setattr(downloads, "CHUNK_BYTES", 1000)
    access = factories.AccessRecordFactory.create(user=ada, kind="exported")
    # Its pieces are empty while an entry is written to the temporary file.
    pieces = evidence_pack.archive([access])
    for _ in range(20):
        next(pieces)
    # As a client that goes away.
    pieces.close()
    assert 0 < made < 10_000


def test_a_pack_takes_no_more_statements_for_more_requirements(ada: User) -> None:
    staff = factories.StaffFactory.create(role="auditor")

    def ask(count: int) -> None:
        for _ in range(count):
            requirement = factories.RequirementFactory.create(user=ada)
            for number in range(2):
                factories.answer(requirement, f"Note {number}.")
            close_requirement(requirement_id=requirement.pk, by=requirement.by)

    def statements() -> int:
        access = factories.AccessRecordFactory.create(kind=AccessKind.EXPORTED, user=ada, staff=staff)
        with CaptureQueriesContext(connection) as sent:
            assert b"".join(evidence_pack.archive([access]))
        return len(sent)

    # Then the account's permissions are known.
    statements()
    ask(1)
    of_one = statements()
    ask(2)
    assert statements() == of_one


def test_too_many_downloads_at_once_are_answered_with_503(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_as("auditor")
    monkeypatch.setattr(streaming, "MAX_STREAMS_PER_OWNER", 1)
    under_way = client.post(CSV)
    put_off = [client.post(path) for path in (CSV, evidence_of(ada))]
    assert [(response.status_code, response.headers["Retry-After"]) for response in put_off] == [(503, "5")] * 2
    assert "Too many downloads" in put_off[0].content.decode()
    assert body(under_way)
    assert body(client.post(CSV))
