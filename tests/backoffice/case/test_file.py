"""The file of a user in the back office: the case, the page of each kind with its one form, and what it leaves."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import translation
from pytest_django import Settings

from backoffice.case.file import EntryForm
from backoffice.exports import records as of
from core.models import AuditEntry
from core.refusals import RefusedError
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import client_as, client_of, words
from users.file import entries
from users.file.kinds import KINDS
from users.models import AccessKind, AccessRecord, FileEntry, FileKind, User
from users.profile.field_rules import today

pytestmark = pytest.mark.django_db

NUMBER = "AB-7718290"
PHOTO = {
    "variant": "photoDocument",
    "verifiedOn": "2026-01-15",
    "documentType": "passport",
    "documentNumber": NUMBER,
    "issuingCountry": "CA",
}
SOURCES = {
    "variant": "dualProcess",
    "verifiedOn": "2026-01-15",
    "sources[0].source": "Maple Bureau",
    "sources[0].information": "nameAndAddress",
    "sources[0].reference": "MB-1",
    "sources[1].source": "Lakeshore Hydro",
    "sources[1].information": "nameAndDateOfBirth",
    "sources[1].reference": "LH-2",
}
SENT: dict[str, dict[str, str]] = {
    "identityVerification": PHOTO,
    "screening": {"list": "UN list", "listDate": "2026-01-15", "result": "possibleMatch", "reference": "QDi.001"},
    "riskRating": {"rating": "high", "reason": "Large\r\nsums.", "reviewOn": "2027-01-15"},
    "personRequest": {"request": "access", "receivedOn": "2026-01-15", "identityCheck": "Passport seen."},
}
# What ends an entry of a kind.
ENDS = {
    "screening": {"resolution": "falsePositive", "note": "Another birth date."},
    "personRequest": {"outcome": "The copy was sent.", "closedOn": "2026-02-01"},
}


@pytest.fixture(autouse=True)
def without_factor(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner)
    return made


@pytest.fixture
def client(reviewer: Staff) -> Client:
    return client_of(reviewer)


def page_of(user: User, kind: str, step: str = "") -> str:
    return f"/admin/cases/{user.pk}/file/{kind}/{step}"


def case_of(client: Client, user: User) -> str:
    return client.get(f"/admin/cases/{user.pk}/").content.decode()


def form_of(kind: str, **changed: str) -> EntryForm:
    sent = SENT[kind] | changed
    form = EntryForm(sent, kind=KINDS[kind], variant=sent.get("variant", ""))
    form.is_valid()
    return form


def recorded(user: User, by: Staff, kind: str, **changed: str) -> FileEntry:
    """The entry of what the form sends."""
    data = form_of(kind, **changed).values()
    return entries.record(user_id=user.pk, born=user.date_of_birth, kind=kind, data=data, by=by)


def test_one_form_adds_entries_of_each_kind_to_the_case_and_the_audit_log(user: User, client: Client) -> None:
    assert "None." in words(client.get(page_of(user, "screening")).content.decode())
    for kind, sent in [*SENT.items(), ("personRequest", SENT["personRequest"] | {"request": "complaint"})]:
        response = client.post(page_of(user, kind, "add/"), sent)
        assert response.status_code == 302, words(response.content.decode())
    page = case_of(client, user)
    assert NUMBER not in page
    shown = words(page)
    added = FileEntry.objects.filter(user=user).order_by("created_at")
    assert [entry.kind for entry in added] == [*SENT, "personRequest"]
    for entry in added:
        assert entry.by is not None
        for line in entries.described(entry):
            assert f"{line.label} {' '.join(line.value.split())}" in shown or line.secret, line
        assert f"· {entry.by.username}" in shown
        # The timeline.
        assert shown.rindex(str(FileKind(entry.kind).label)) > shown.index("Timeline")
    assert shown.count("Recorded 0 minutes ago") == len(added)
    assert "Overdue" in shown
    # The audit log.
    assert AuditEntry.objects.filter(action="fileEntry.recorded").count() == len(added)
    log = words(client_as("auditor").get("/admin/core/auditentry/").content.decode())
    for said in ("Kind: Screening", "Result: Possible match", "Rating: High", "Method: Photo document"):
        assert said in log
    assert NUMBER not in log


def test_line_breaks_are_those_of_the_api() -> None:
    assert form_of("riskRating").values()["reason"] == "Large\nsums."


def test_the_fields_of_a_verification_depend_on_the_method_and_of_two_sources_one_reference_is_shown(
    user: User, client: Client
) -> None:
    page = page_of(user, "identityVerification")
    assert 'name="documentNumber"' not in client.get(page, {"variant": "dualProcess"}).content.decode()
    assert client.post(f"{page}add/", SOURCES).status_code == 302
    entry = FileEntry.objects.get(user=user)
    assert [one["source"] for one in entry.fields["sources"]] == ["Maple Bureau", "Lakeshore Hydro"]
    sent = {"entry": str(entry.pk), "secret": "sources[1].reference"}
    shown = client.post(f"{page}number/", sent).content.decode()
    assert ("LH-2" in shown, "MB-1" in shown) == (True, False)
    assert client.post(f"{page}number/", sent | {"secret": "list"}).status_code == 404


# Kind, field, value, and what is said there.
WRONG = [
    ("identityVerification", "verifiedOn", "2999-01-01", "Must not be in the future."),
    ("identityVerification", "verifiedOn", "", "This field is required."),
    ("identityVerification", "verifiedOn", "1901-01-01", "Must not be before the user's birth date."),
    ("identityVerification", "expiresOn", "2025-01-01", "The document had expired by then."),
    ("identityVerification", "documentNumber", "9" * 51, "at most 50 characters"),
    ("identityVerification", "sources[1].source", "MAPLE BUREAU", "Must differ from that"),
    ("screening", "reference", "", "This field is required."),
    ("riskRating", "reviewOn", "2099-01-01", "Must be at most 5 years ahead."),
    ("riskRating", "rating", "none", "Select a valid choice"),
    ("personRequest", "dueOn", "2026-01-14", "Must not be before it was received."),
]


def test_what_is_not_valid_is_said_at_the_field_in_the_language_of_the_reader(
    user: User, reviewer: Staff, client: Client
) -> None:
    def errors(kind: str, language: str, **wrong: str) -> dict[str, str]:
        with translation.override(language):
            form = form_of(kind, **wrong)
            if form.is_valid():
                with form.showing_errors():
                    entries.record(user_id=user.pk, born=user.date_of_birth, kind=kind, data=form.values(), by=reviewer)
            return {name: " ".join(map(str, texts)) for name, texts in form.errors.items()}

    for kind, field, value, said in WRONG:
        wrong = (SOURCES if field.startswith("sources") else {}) | {field: value}
        english, french = (errors(kind, language, **wrong) for language in ("en", "fr"))
        assert [*english] == [*french] == [field], (kind, wrong)
        assert said in english[field]
        assert said not in french[field]
    wrong = {"verifiedOn": "2999-01-01"}
    response = client.post(
        page_of(user, "identityVerification", "add/"), PHOTO | wrong, headers={"Accept-Language": "fr"}
    )
    assert response.status_code == 422
    assert errors("identityVerification", "fr", **wrong)["verifiedOn"] in unescape(words(response.content.decode()))
    assert not FileEntry.objects.exists()


@pytest.mark.parametrize("kind", ENDS)
def test_an_open_entry_is_closed_once_with_a_text(kind: str, user: User, reviewer: Staff, client: Client) -> None:
    entry = recorded(user, reviewer, kind)
    assert entry.is_open
    ends, sent = page_of(user, kind, "close/"), {"entry": str(entry.pk)} | ENDS[kind]
    required = EntryForm({}, kind=KINDS[kind], ends=entry).errors
    assert {*required} == {*ENDS[kind]}
    assert {text for texts in required.values() for text in texts} == {"This field is required."}
    assert client.post(ends, sent).status_code == 302
    again = client.post(ends, sent)
    assert again.status_code == 409
    shown = words(again.content.decode())
    assert "This entry is closed already." in shown
    assert "Closed by" in shown
    assert "Close …" not in shown
    assert {"screening": "False positive", "personRequest": "The copy was sent."}[kind] in shown


def test_a_request_is_not_closed_before_it_was_received(user: User, reviewer: Staff, client: Client) -> None:
    entry = recorded(user, reviewer, "personRequest")
    sent = {"entry": str(entry.pk)} | ENDS["personRequest"] | {"closedOn": "2026-01-14"}
    response = client.post(page_of(user, "personRequest", "close/"), sent)
    assert (response.status_code, FileEntry.objects.count()) == (422, 1)
    assert "Must not be before it was received." in words(response.content.decode())


def test_an_entry_of_another_user_and_of_a_kind_without_an_end_is_not_found(
    user: User, reviewer: Staff, client: Client
) -> None:
    other = recorded(factories.UserFactory.create(), reviewer, "screening")
    sent = {"entry": str(other.pk)} | ENDS["screening"]
    assert client.post(page_of(user, "screening", "close/"), sent).status_code == 404
    for kind in ("riskRating", "identityVerification"):
        entry = recorded(user, reviewer, kind)
        assert client.post(page_of(user, kind, "close/"), {"entry": str(entry.pk)}).status_code == 404
    assert client.get(page_of(user, "unknown")).status_code == 404


# Numbers


def test_a_number_is_shown_one_at_a_time_to_who_may_decide(user: User, reviewer: Staff, client: Client) -> None:
    entry, page = recorded(user, reviewer, "identityVerification"), page_of(user, "identityVerification")
    assert NUMBER not in json.dumps(entry.fields)
    auditor = client_as("auditor")
    for reader, is_offered in ((client, True), (auditor, False)):
        shown = reader.get(page).content.decode()
        assert NUMBER not in shown
        assert ("Show number" in shown, 'name="documentNumber"' in shown) == (is_offered, is_offered)
    url, sent = f"{page}number/", {"entry": str(entry.pk), "secret": "documentNumber"}
    response = client.post(url, sent)
    assert NUMBER in response.content.decode()
    assert "no-store" in response.headers["Cache-Control"]
    record = AccessRecord.objects.get(kind=AccessKind.REVEALED)
    assert (record.user, NUMBER in record.detail) == (user, False)
    # A reload, or another page, does not show it.
    assert NUMBER not in client.get(url).content.decode()
    case = case_of(auditor, user)
    assert NUMBER not in case
    assert "Number shown" in words(case)
    assert auditor.post(url, sent).status_code == 403
    assert AccessRecord.objects.filter(kind=AccessKind.REVEALED).count() == 1


def test_a_number_that_no_key_decrypts_is_said_so(user: User, reviewer: Staff, settings: Settings) -> None:
    entry = recorded(user, reviewer, "identityVerification")
    settings.SECRETS_ENCRYPTION_KEYS = ["another key of more than thirty-two characters"]
    with pytest.raises(RefusedError, match="No key decrypts it"):
        entries.reveal(entry=entry, secret="documentNumber", by=reviewer)


# Who sees it, and where it is: for each role also tests/staff/test_roles_table.py


def test_an_auditor_reads_which_is_in_the_access_log(user: User, reviewer: Staff) -> None:
    recorded(user, reviewer, "riskRating")
    shown = client_as("auditor").get(page_of(user, "riskRating")).content.decode()
    assert "High" in shown
    assert '<form method="post" action="/admin/cases' not in shown
    record = AccessRecord.objects.get(user=user)
    assert (record.kind, record.detail_text) == (AccessKind.OPENED, "File of the user.")


def test_a_copy_made_while_a_request_is_open_is_beside_it(user: User, reviewer: Staff) -> None:
    auditor = factories.StaffFactory.create(role="auditor")

    def copied() -> AccessRecord:
        made: AccessRecord = factories.AccessRecordFactory.create(
            kind=AccessKind.EXPORTED, user=user, staff=auditor, detail="Person's copy"
        )
        return made

    copied()
    entry = recorded(user, reviewer, "personRequest")
    meanwhile = copied()
    entries.end(entry_id=entry.pk, data=ENDS["personRequest"], by=reviewer)
    copied()
    shown = client_of(auditor).get(page_of(user, "personRequest")).content.decode().partition("<main")[2]
    assert re.findall(r"/admin/users/accessrecord/(\d+)/change/", shown) == [str(meanwhile.pk)]
    assert auditor.username in words(shown)


# The lists


def list_page(client: Client, kind: str, **query: str) -> str:
    return words(client.get(f"/admin/users/fileentry/{kind}/", query).content.decode())


def test_screening_lists_open_matches_with_the_persons_data_and_the_sandboxs_apart(
    user: User, reviewer: Staff, client: Client
) -> None:
    simulated = factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    closed = recorded(user, reviewer, "screening", reference="QDi.002")
    entries.end(entry_id=closed.pk, data=ENDS["screening"], by=reviewer)
    for one in (user, simulated):
        recorded(one, reviewer, "screening")
        recorded(one, reviewer, "screening", result="clear", reference="")
    shown = list_page(client, "screening")
    for said in (user.full_name, "QDi.001", "UN list", "(CA)", "1 entry", str(user.date_of_birth.year)):
        assert said in shown, said
    found = (shown, list_page(client, "screening", mode="sandbox"))
    assert [user.external_id in page for page in found] == [True, False]
    assert [simulated.external_id in page for page in found] == [False, True]


def test_reviews_lists_the_newest_ratings_that_are_due(
    user: User, partner: Partner, reviewer: Staff, client: Client
) -> None:
    recorded(user, reviewer, "riskRating", reviewOn=today().isoformat())
    recorded(user, reviewer, "riskRating", reviewOn=(today() + timedelta(days=365)).isoformat())
    assert "Nothing needs you" in list_page(client, "riskRating")
    days = {"due": 0, "soon": 20, "later": 80, "far": 200}
    for name, ahead in days.items():
        made = factories.UserFactory.create(partner=partner, last_name=name.title())
        recorded(made, reviewer, "riskRating", reviewOn=(today() + timedelta(days=ahead)).isoformat())
    listed = {}
    for within in ("", "30", "90"):
        shown = list_page(client, "riskRating", **({"within": within} if within else {}))
        listed[within] = [name for name in days if name.title() in shown]
    assert listed == {"": ["due"], "30": ["due", "soon"], "90": ["due", "soon", "later"]}


def test_requests_lists_all_that_are_open_the_soonest_first(
    user: User, partner: Partner, reviewer: Staff, client: Client
) -> None:
    other = factories.UserFactory.create(partner=partner)
    recorded(user, reviewer, "personRequest", dueOn="2099-01-01")
    recorded(other, reviewer, "personRequest")
    shown = list_page(client, "personRequest")
    assert shown.index(other.external_id) < shown.index(user.external_id)
    assert shown.count("Overdue") == 1


def test_the_first_page_counts_what_needs_somebody(user: User, reviewer: Staff, client: Client) -> None:
    for kind in ("screening", "personRequest"):
        recorded(user, reviewer, kind)
    recorded(user, reviewer, "riskRating", reviewOn=(today() + timedelta(days=9)).isoformat())
    response = client.get("/admin/")
    figures = {str(one["title"]): (one["text"], bool(one.get("is_bad"))) for one in response.context["figures"]}
    assert figures["Screening"] == ("1", False)
    assert figures["Reviews"] == ("0", False)
    assert figures["Requests"] == ("1", True)


# Exports


def test_the_pack_has_all_entries_without_numbers_and_the_persons_copy_some_without_staff(
    user: User, reviewer: Staff
) -> None:
    for kind in FileKind.values:
        recorded(user, reviewer, kind)
    records = [*of.file_records(user)]
    assert [one["kind"] for one in records] == FileKind.values
    assert NUMBER not in json.dumps(records, default=str)
    assert all(one["by"] for one in records)
    records = [*of.file_records(user, for_person=True)]
    assert {one["kind"] for one in records} == {"identityVerification", "personRequest"}
    assert not any("by" in one for one in records)
