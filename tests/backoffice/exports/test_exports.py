"""Exports: permissions, contents and the entries in the access log."""

import csv
import gc
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
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
from tests import factories
from tests.staff.login.test_login import enrolled, inside
from tests.staff.login.test_reauthentication import confirm, grow_stale
from tests.support.client import PartnerClient, Response
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


def table(client: Client, **filters: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body(client.post(CSV, filters)).decode("utf-8-sig"))))


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


def test_a_value_that_is_also_a_status_stays_as_it_is(create_user: Callable[..., Response]) -> None:
    create_user(externalId="active", occupation="closed", city="rejected")
    _, page = pack(client_as("auditor"), User.objects.get(external_id="active"))
    for value in ("active", "closed", "rejected"):
        assert re.search(rf">\s*{value}\s*<", page), value
    assert str(Status.PENDING_COMPLIANCE.label) in page


# Permissions


def test_an_export_needs_a_fresh_second_factor(ada: User, settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    assert client.post(evidence_of(ada)).status_code == 200
    grow_stale(client)
    for path in (CSV, evidence_of(ada)):
        assert "/confirm/" in client.post(path).headers["Location"]
    assert AccessRecord.objects.filter(kind="exported").count() == 1


def test_after_the_second_factor_the_export_continues(ada: User, settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    grow_stale(client)
    address = confirm(client, client.post(CSV, {"country": "CA"})).headers["Location"]
    page = client.get(address).content.decode()
    assert not AccessRecord.objects.exists()
    assert f'href="{FORM}"' in page
    [(action, fields)] = re.findall(r'<form method="post" action="([^"]+)" data-submits>(.*?)</form>', page, re.DOTALL)
    given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', fields))
    assert given.keys() == {"csrfmiddlewaretoken", "country"}
    assert b"ada" in body(client.post(action, given))
    assert AccessRecord.objects.get().detail == "CSV of users: country CA"
    assert "data-submits" not in client.get(address).content.decode()


def test_the_pack_of_an_unknown_user_is_not_found(ada: User) -> None:
    response = client_as("auditor").post(evidence_of(User(pk="00000000-0000-4000-8000-000000000000")))
    assert response.status_code == 404


# Access log


def test_a_list_is_recorded_before_its_first_byte(ada: User) -> None:
    auditor = factories.StaffFactory.create(role="auditor")
    response = client_of(auditor).post(CSV, {"partner": ada.partner.slug, "status": "active", "country": "ca"})
    record = AccessRecord.objects.get()
    assert (record.kind, record.user, record.staff) == ("exported", None, auditor)
    assert record.detail == f"CSV of users: partner {ada.partner.slug}, status active, country CA"
    assert record.request_id == response.headers["X-Request-Id"]


def test_nobody_acts_once_a_download_has_ended(ada: User) -> None:
    body(client_as("auditor").post(CSV))
    assert connection.begin_with == ""  # type: ignore[attr-defined]


def test_a_list_without_filters_is_recorded_as_all_users(ada: User) -> None:
    client_as("auditor").post(CSV)
    assert AccessRecord.objects.get().detail == "CSV of users: all"


def test_a_pack_is_recorded_before_its_first_byte_and_names_the_export(ada: User) -> None:
    auditor = factories.StaffFactory.create(role="auditor")
    data, page = pack(client_of(auditor), ada)
    record = AccessRecord.objects.get()
    assert (record.kind, record.user, record.staff) == ("exported", ada, auditor)
    assert [one["requestId"] for one in data["accesses"]] == [record.request_id]
    assert record.request_id in page


# Lists


def test_a_list_has_users_under_the_names_of_the_api(ada: User, create_user: Callable[..., Response]) -> None:
    create_user(externalId="émilie", firstName="Émilie", addressLine2="", dateOfBirth="1985-02-28")
    rows = table(client_as("auditor"))
    assert [one["externalId"] for one in rows] == ["ada", "émilie"]
    assert rows[0] | {"userId": str(ada.pk), "status": "pendingCompliance", "isCiroAffiliate": "false"} == rows[0]
    assert rows[1]["firstName"] == "Émilie"
    assert rows[0]["dateOfBirth"] == "1990-12-10"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {"ada", "bob", "carol"}),
        ({"partner": "first"}, {"ada", "bob"}),
        ({"status": "active"}, {"bob"}),
        ({"country": "us"}, {"bob"}),
        ({"partner": "second", "country": "US"}, set()),
        ({"created_from": "today", "created_to": "today"}, {"ada", "bob", "carol"}),
        ({"created_from": "tomorrow"}, set()),
        ({"created_to": "yesterday"}, set()),
    ],
)
@pytest.mark.usefixtures("within_one_day")
def test_a_list_is_filtered(
    filters: dict[str, str], found: set[str], api: PartnerClient, other_api: PartnerClient, partner: Partner
) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    place = {"country": "US", "province": "NY", "postalCode": "14201", "city": "Buffalo"}
    api.post("/v1/users", factories.user_body(externalId="bob", **place))
    other_api.post("/v1/users", factories.user_body(externalId="carol"))
    factories.decide(User.objects.get(external_id="bob"), Status.ACTIVE)
    today = datetime.now(UTC).astimezone(ZoneInfo("America/Toronto")).date()
    words = {
        "first": partner.slug,
        "second": User.objects.get(external_id="carol").partner.slug,
        "today": today.isoformat(),
        "tomorrow": (today + timedelta(days=1)).isoformat(),
        "yesterday": (today - timedelta(days=1)).isoformat(),
    }
    given = {name: words.get(value, value) for name, value in filters.items()}
    assert {one["externalId"] for one in table(client_as("auditor"), **given)} == found


@pytest.mark.parametrize(
    "filters",
    [
        {"partner": "nobody"},
        {"partner": "\0"},
        {"status": "odd"},
        {"country": "Canada"},
        {"country": "\0\0"},
        {"created_from": "soon"},
        {"created_to": "9999-12-31"},
        {"created_from": "0001-01-01"},
        {"created_from": "2026-02-02", "created_to": "2026-02-01"},
    ],
)
def test_invalid_filters_are_refused_and_nothing_is_recorded(filters: dict[str, str], ada: User) -> None:
    response = client_as("auditor").post(CSV, filters)
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert not AccessRecord.objects.exists()


@pytest.mark.parametrize("city", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1+1"])
def test_no_cell_is_a_formula(city: str, create_user: Callable[..., Response]) -> None:
    create_user(externalId="-ada", city=city)
    client = client_as("auditor")
    [row] = table(client)
    assert (row["city"], row["externalId"]) == (f"'{city}", "'-ada")


@pytest.mark.parametrize("city", ["x;=1+1", "x; @SUM(A1)", "x;y;-1", 'x;"=1+1', 'x; "" +1;y'])
def test_no_cell_is_a_formula_where_semicolons_separate_cells(city: str, create_user: Callable[..., Response]) -> None:
    create_user(city=city)
    sent = body(client_as("auditor").post(CSV)).decode("utf-8-sig")
    assert city not in sent
    for row in csv.reader(io.StringIO(sent), delimiter=";"):
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in row)


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": "pendingCompliance"},
        {"created_from": "2026-01-01"},
        {"status": "pendingCompliance", "country": "CA"},
    ],
    ids=str,
)
def test_a_list_is_read_in_the_order_of_an_index(filters: dict[str, str], ada: User) -> None:
    form = lists.UserListForm(filters)
    assert form.is_valid()
    assert "using user_of_partner" in plan_of_next_batch("users", form)


def test_an_empty_list_has_a_heading(db: None) -> None:
    text = body(client_as("auditor").post(CSV)).decode("utf-8-sig")
    assert text.startswith("userId,externalId,partner,mode,status,")
    assert text.count("\n") == 1


def test_the_file_has_a_name_and_a_content_type(ada: User) -> None:
    response = client_as("auditor").post(CSV)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="users-\d{8}-\d{6}\.csv"', response.headers["Content-Disposition"])
    assert "no-store" in response.headers["Cache-Control"]


def test_a_list_that_is_cut_off_says_so(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "EXPORT_SECONDS", -1)
    assert body(client_as("auditor").post(CSV)).decode().splitlines()[-1].startswith("INCOMPLETE")


def test_a_pack_that_is_cut_off_is_no_archive(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "EXPORT_SECONDS", -1)
    sent = body(client_as("auditor").post(evidence_of(ada)))
    assert not zipfile.is_zipfile(io.BytesIO(sent))


def test_rows_are_read_as_they_are_sent(
    ada: User, create_user: Callable[..., Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        create_user(externalId=f"user-{number}")
    monkeypatch.setattr(records, "BATCH_SIZE", 2)
    form = lists.UserListForm({})
    assert form.is_valid()
    rows = lists.LISTS["users"].rows(form)
    with CaptureQueriesContext(connection) as sent:
        names = [next(rows)[1] for _ in range(2)]
    # The partners, and a batch.
    assert len(sent) == 2
    assert names + [row[1] for row in rows] == ["ada", *(f"user-{number}" for number in range(5))]


# Packs


def test_a_pack_has_profile_decisions_history_accesses_and_sections(ada: User, api: PartnerClient) -> None:
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    factories.decide(ada, Status.SUSPENDED)
    factories.add_conversions(ada, [datetime(2026, 1, 15, hour, tzinfo=UTC) for hour in range(3)])
    client_as("reviewer").get(f"/admin/cases/{ada.pk}/")
    data, page = pack(client_as("auditor"), ada)
    assert (data["user"]["userId"], data["user"]["city"], data["user"]["status"]) == (
        str(ada.pk),
        "Ottawa",
        "suspended",
    )
    assert [(one["from"], one["to"]) for one in data["statusChanges"]] == [
        ("pendingCompliance", "active"),
        ("active", "suspended"),
    ]
    assert [one["city"] for one in data["history"]][:2] == ["Toronto", "Ottawa"]
    assert data["history"][0]["by"]["partner"] == ada.partner.slug
    assert [one["what"] for one in data["accesses"]] == ["opened", "exported"]
    assert len(data["conversions"]) == 3
    assert set(data) >= {"conversions", "documents"}
    for text in ("Ottawa", "Suspended", "Papers seen.", data["conversions"][0]["conversionId"]):
        assert text in page


def test_a_decision_in_a_pack_has_the_profile_on_which_it_was_made(ada: User, api: PartnerClient) -> None:
    factories.decide(ada, Status.ACTIVE)
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    factories.StatusChangeFactory.create(user=ada, to_status=Status.SUSPENDED)
    data, _page = pack(client_as("auditor"), ada)
    assert [one["profile"]["city"] for one in data["statusChanges"]] == ["Toronto", "Ottawa"]


def test_the_page_of_a_pack_is_in_words(ada: User) -> None:
    factories.decide(ada, Status.ACTIVE)
    factories.add_conversions(ada, [datetime(2026, 1, 15, 9, 30, tzinfo=UTC)])
    _data, page = pack(client_as("auditor"), ada)
    assert f"<title>Evidence pack of {ada.first_name} {ada.last_name}</title>" in page
    for words in ("CAD 100.00", "Jan. 15, 2026, 04:30:00 EST (Jan. 15, 2026, 09:30:00 UTC)", "Dec. 10, 1990"):
        assert words in page, words
    assert "2026-01-15T" not in page


def test_the_page_of_a_pack_says_what_a_decision_was_based_on_in_words(ada: User, api: PartnerClient) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    client_of(reviewer).get(f"/admin/cases/{ada.pk}/")
    factories.StatusChangeFactory.create(user=ada, to_status=Status.ACTIVE, by=reviewer)
    _data, page = pack(client_as("auditor"), ada)
    based = page.partition('id="decidedOn"')[2].partition("</section>")[0]
    assert re.search(r"<dt>Case open before</dt><dd>\d+ s</dd>", based)
    assert re.search(r"<dt>Profile as of</dt><dd>[A-Z][^<]* E[SD]T \([^<]* UTC\)</dd>", based)
    for key in ("Open seconds", "Version", "Shown", "+00:00", "Status since</dt><dd>20"):
        assert key not in page, key


def test_the_page_of_a_pack_shows_a_profile_only_where_it_changed(ada: User, api: PartnerClient) -> None:
    for status in (Status.ACTIVE, Status.SUSPENDED):
        factories.StatusChangeFactory.create(user=ada, to_status=status)
    api.patch("/v1/users/ada", {"city": "Ottawa", "addressLine2": ""})
    factories.StatusChangeFactory.create(user=ada, to_status=Status.ACTIVE)
    data, page = pack(client_as("auditor"), ada)
    sections = {
        key: page.partition(f'<section id="{key}"')[2].partition("</section>")[0].split("<article")
        for key in ("statusChanges", "history")
    }
    assert ["Profile at the time" in one for one in sections["statusChanges"][1:]] == [True, False, True]
    assert ["Toronto" in one for one in sections["history"][1:]] == [True, *[False] * 4]
    changed = sections["history"][4]
    assert "Ottawa" in changed
    assert "Engineer" not in changed
    # A program reads it whole.
    assert [one["profile"]["city"] for one in data["statusChanges"]] == ["Toronto", "Toronto", "Ottawa"]
    assert len(data["history"]) == 5
    assert all(one["occupation"] for one in data["history"])


def test_a_pack_has_one_user_only(ada: User, create_user: Callable[..., Response]) -> None:
    create_user(externalId="bob", email="bob@example.org")
    _data, page = pack(client_as("auditor"), ada)
    assert "bob" not in page


def test_partner_data_in_a_pack_is_escaped(create_user: Callable[..., Response]) -> None:
    hostile = "<script>alert(1)</script><!-- parts -->"
    created = create_user(externalId="eve", occupation=hostile, lastName="O'Brien & <b>Co</b>")
    data, page = pack(client_as("auditor"), User.objects.get(pk=created.json()["userId"]))
    assert data["user"]["occupation"] == hostile
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>Co" not in page


def test_the_page_of_a_pack_loads_nothing(ada: User) -> None:
    _data, page = pack(client_as("auditor"), ada)
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?!#|data\.json|documents/)", page)


def test_a_pack_is_streamed_row_by_row(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def endless(_user: User) -> Iterator[dict[str, int]]:
        nonlocal made
        while True:
            made += 1
            yield {"number": made}

    monkeypatch.setattr(records, "conversions", endless)
    access = factories.AccessRecordFactory.create(user=ada, kind="exported")
    # Its pieces are empty while an entry is written to the temporary file.
    pieces = evidence_pack.archive([access])
    for _ in range(20):
        next(pieces)
    # As a client that goes away.
    pieces.close()
    assert 0 < made < 1_000_000


def test_a_pack_takes_no_more_statements_for_more_requirements(ada: User) -> None:
    staff = factories.StaffFactory.create(role="auditor")

    def ask(count: int) -> None:
        for _ in range(count):
            requirement = factories.RequirementFactory.create(user=ada)
            for number in range(3):
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
    ask(12)
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
