"""The file of a user in the back office: the case, the page of each kind with its one form, and what it leaves."""

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from backoffice.exports import records as of
from core.models import AuditEntry
from partners.models import Mode, Partner
from tests import factories
from tests.support.staff import client_as, client_of, words
from users.file import entries
from users.file.kinds import KINDS
from users.models import AccessKind, AccessRecord, FileEntry, FileKind, Status, User
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
    made: User = factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    return made


@pytest.fixture
def reviewer() -> Client:
    return client_as("reviewer")


def page_of(user: User, kind: str, step: str = "") -> str:
    return f"/admin/cases/{user.pk}/file/{kind}/{step}"


def case_of(client: Client, user: User) -> str:
    return client.get(f"/admin/cases/{user.pk}/").content.decode()


def added(client: Client, user: User, kind: str, **changed: str) -> FileEntry:
    """The entry that the form adds."""
    response = client.post(page_of(user, kind, "add/"), SENT[kind] | changed)
    assert response.status_code == 302, words(response.content.decode())
    return FileEntry.objects.filter(user=user, kind=kind).latest("created_at")


@pytest.mark.parametrize("kind", FileKind.values)
def test_one_form_adds_an_entry_of_each_kind(kind: str, user: User, reviewer: Client) -> None:
    empty = words(reviewer.get(page_of(user, kind)).content.decode())
    assert "None." in empty
    entry = added(reviewer, user, kind)
    assert entry.by is not None
    shown = words(case_of(reviewer, user))
    for line in entries.described(entry):
        assert f"{line.label} {' '.join(line.value.split())}" in shown or line.secret, line
    assert f"· {entry.by.username}" in shown
    assert "Recorded 0 minutes ago" in shown
    # The timeline.
    assert shown.rindex(str(FileKind(kind).label)) > shown.index("Timeline")


def test_line_breaks_are_those_of_the_api(user: User, reviewer: Client) -> None:
    assert added(reviewer, user, "riskRating").fields["reason"] == "Large\nsums."


def test_the_fields_of_a_verification_depend_on_the_method(user: User, reviewer: Client) -> None:
    first = reviewer.get(page_of(user, "identityVerification")).content.decode()
    assert 'name="documentNumber"' in first
    other = reviewer.get(page_of(user, "identityVerification"), {"variant": "dualProcess"}).content.decode()
    assert 'name="documentNumber"' not in other
    assert reviewer.post(page_of(user, "identityVerification", "add/"), SOURCES).status_code == 302
    entry = FileEntry.objects.get(user=user)
    assert [one["source"] for one in entry.fields["sources"]] == ["Maple Bureau", "Lakeshore Hydro"]


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        ("identityVerification", {"verifiedOn": "2999-01-01"}, "Must not be in the future."),
        ("identityVerification", {"verifiedOn": ""}, "This field is required."),
        ("identityVerification", {"verifiedOn": "1901-01-01"}, "Must not be before the user's birth date."),
        ("identityVerification", {"expiresOn": "2025-01-01"}, "The document had expired by then."),
        ("identityVerification", {"documentNumber": "9" * 51}, "at most 50 characters"),
        ("identityVerification", SOURCES | {"sources[1].source": "MAPLE BUREAU"}, "Must differ from that"),
        ("screening", {"reference": ""}, "This field is required."),
        ("riskRating", {"reviewOn": "2099-01-01"}, "Must be at most 5 years ahead."),
        ("riskRating", {"rating": "none"}, "Select a valid choice"),
        ("personRequest", {"dueOn": "2026-01-14"}, "Must not be before it was received."),
    ],
)
def test_what_is_not_valid_is_said_at_the_field(
    kind: str, wrong: dict[str, str], said: str, user: User, reviewer: Client
) -> None:
    response = reviewer.post(page_of(user, kind, "add/"), SENT[kind] | wrong)
    assert response.status_code == 422
    assert said in words(response.content.decode()).replace("&#x27;", "'")
    assert not FileEntry.objects.exists()
    french = reviewer.post(page_of(user, kind, "add/"), SENT[kind] | wrong, headers={"Accept-Language": "fr"})
    assert said not in words(french.content.decode()).replace("&#x27;", "'")


@pytest.mark.parametrize("kind", ENDS)
def test_an_open_entry_is_closed_once_with_a_text(kind: str, user: User, reviewer: Client) -> None:
    entry = added(reviewer, user, kind)
    assert entry.is_open
    ends, sent = page_of(user, kind, "close/"), {"entry": str(entry.pk)}
    refused = reviewer.post(ends, sent)
    assert refused.status_code == 422
    assert "This field is required." in words(refused.content.decode())
    assert reviewer.post(ends, sent | ENDS[kind]).status_code == 302
    shown = words(reviewer.get(page_of(user, kind)).content.decode())
    assert next(iter(ENDS[kind].values()), "") in shown or "False positive" in shown
    assert "Close …" not in shown
    assert "Closed by" in shown
    again = reviewer.post(ends, sent | ENDS[kind])
    assert again.status_code == 409
    assert "This entry is closed already." in words(again.content.decode())


def test_a_request_is_not_closed_before_it_was_received(user: User, reviewer: Client) -> None:
    entry = added(reviewer, user, "personRequest")
    sent = {"entry": str(entry.pk)} | ENDS["personRequest"] | {"closedOn": "2026-01-14"}
    response = reviewer.post(page_of(user, "personRequest", "close/"), sent)
    assert (response.status_code, FileEntry.objects.count()) == (422, 1)


@pytest.mark.parametrize("kind", ["riskRating", "identityVerification"])
def test_a_kind_without_an_end_is_not_closed(kind: str, user: User, reviewer: Client) -> None:
    entry = added(reviewer, user, kind)
    assert reviewer.post(page_of(user, kind, "close/"), {"entry": str(entry.pk)}).status_code == 404


def test_an_entry_of_another_user_is_not_found(user: User, partner: Partner, reviewer: Client) -> None:
    entry = added(reviewer, factories.UserFactory.create(partner=partner), "screening")
    sent = {"entry": str(entry.pk)} | ENDS["screening"]
    assert reviewer.post(page_of(user, "screening", "close/"), sent).status_code == 404
    assert reviewer.get(page_of(user, "unknown")).status_code == 404


def test_the_case_has_a_second_open_request_too(user: User, reviewer: Client) -> None:
    added(reviewer, user, "personRequest")
    added(reviewer, user, "personRequest", request="complaint")
    shown = words(case_of(reviewer, user))
    assert "Access" in shown
    assert "Complaint" in shown


# Numbers


def test_a_number_is_shown_one_at_a_time_to_who_may_decide(user: User, reviewer: Client) -> None:
    entry, url = added(reviewer, user, "identityVerification"), page_of(user, "identityVerification", "number/")
    assert NUMBER not in json.dumps(entry.fields)
    for client in (reviewer, client_as("auditor")):
        assert NUMBER not in case_of(client, user)
        assert NUMBER not in client.get(page_of(user, "identityVerification")).content.decode()
    auditor = client_as("auditor").get(page_of(user, "identityVerification")).content.decode()
    assert "Show number" not in auditor
    sent = {"entry": str(entry.pk), "secret": "documentNumber"}
    response = reviewer.post(url, sent)
    assert NUMBER in response.content.decode()
    assert "no-store" in response.headers["Cache-Control"]
    record = AccessRecord.objects.get(kind=AccessKind.REVEALED)
    assert (record.user, NUMBER in record.detail) == (user, False)
    assert "Number shown" in words(case_of(reviewer, user))
    # A reload, or another page, does not show it.
    assert NUMBER not in reviewer.get(url).content.decode()
    assert client_as("auditor").post(url, sent).status_code == 403
    assert AccessRecord.objects.filter(kind=AccessKind.REVEALED).count() == 1


def test_a_number_that_no_key_decrypts_is_said_so(user: User, reviewer: Client, settings: Settings) -> None:
    entry = added(reviewer, user, "identityVerification")
    settings.SECRETS_ENCRYPTION_KEYS = ["another key of more than thirty-two characters"]
    sent = {"entry": str(entry.pk), "secret": "documentNumber"}
    response = reviewer.post(page_of(user, "identityVerification", "number/"), sent)
    assert response.status_code == 409
    assert "No key decrypts it" in words(response.content.decode())


def test_of_two_sources_one_reference_is_shown(user: User, reviewer: Client) -> None:
    reviewer.post(page_of(user, "identityVerification", "add/"), SOURCES)
    entry = FileEntry.objects.get(user=user)
    sent = {"entry": str(entry.pk), "secret": "sources[1].reference"}
    shown = reviewer.post(page_of(user, "identityVerification", "number/"), sent).content.decode()
    assert ("LH-2" in shown, "MB-1" in shown) == (True, False)
    unknown = reviewer.post(page_of(user, "identityVerification", "number/"), sent | {"secret": "list"})
    assert unknown.status_code == 404


# Who sees it, and where it is


def test_who_may_decide_records_and_auditors_read(user: User, reviewer: Client) -> None:
    added(reviewer, user, "riskRating")
    auditor, viewer = client_as("auditor"), client_as("viewer")
    shown = auditor.get(page_of(user, "riskRating")).content.decode()
    assert "High" in shown
    assert '<form method="post" action="/admin/cases' not in shown
    assert auditor.post(page_of(user, "riskRating", "add/"), SENT["riskRating"]).status_code == 403
    assert viewer.get(page_of(user, "riskRating")).status_code == 403
    assert "riskRating" not in case_of(viewer, user)
    assert FileEntry.objects.count() == 1


def test_opening_the_page_is_in_the_access_log(user: User, reviewer: Client) -> None:
    reviewer.get(page_of(user, "screening"))
    record = AccessRecord.objects.get(user=user)
    assert (record.kind, record.detail_text) == (AccessKind.OPENED, "File of the user.")


def test_the_audit_log_says_it_in_words_without_numbers(user: User, reviewer: Client) -> None:
    for kind in FileKind.values:
        added(reviewer, user, kind)
    assert AuditEntry.objects.filter(action="fileEntry.recorded").count() == len(KINDS)
    log = words(client_as("auditor").get("/admin/core/auditentry/").content.decode())
    for said in ("Kind: Screening", "Result: Possible match", "Rating: High", "Method: Photo document"):
        assert said in log
    assert NUMBER not in log


def test_a_copy_made_while_a_request_is_open_is_beside_it(user: User, reviewer: Client) -> None:
    auditor = factories.StaffFactory.create(role="auditor")
    entry = added(reviewer, user, "personRequest")
    page = client_of(auditor).get(page_of(user, "personRequest")).content.decode()
    assert "Person&#x27;s copy" not in page.partition("<main")[2]
    AccessRecord.objects.create(kind=AccessKind.EXPORTED, user=user, staff=auditor, detail="Person's copy")
    shown = client_of(auditor).get(page_of(user, "personRequest")).content.decode().partition("<main")[2]
    record = AccessRecord.objects.get(kind=AccessKind.EXPORTED)
    assert f"/admin/users/accessrecord/{record.pk}/change/" in shown
    assert auditor.username in words(shown)
    reviewer.post(page_of(user, "personRequest", "close/"), {"entry": str(entry.pk)} | ENDS["personRequest"])
    AccessRecord.objects.create(kind=AccessKind.EXPORTED, user=user, staff=auditor, detail="Person's copy")
    later = client_of(auditor).get(page_of(user, "personRequest")).content.decode()
    assert re.findall(r"accessrecord/\d+", later) == [f"accessrecord/{record.pk}"]


def test_an_overdue_request_is_marked(user: User, reviewer: Client) -> None:
    added(reviewer, user, "personRequest")
    assert "Overdue" in words(case_of(reviewer, user))


# The lists


def list_page(client: Client, kind: str, **query: str) -> str:
    return words(client.get(f"/admin/users/fileentry/{kind}/", query).content.decode())


def test_screening_lists_open_matches_with_the_persons_data(user: User, reviewer: Client) -> None:
    assert "Nothing needs you" in list_page(reviewer, "screening")
    entry = added(reviewer, user, "screening")
    added(reviewer, user, "screening", result="clear", reference="")
    shown = list_page(reviewer, "screening")
    born = f"{user.date_of_birth:%b} {user.date_of_birth.day}, {user.date_of_birth.year}"
    for said in (user.full_name, "QDi.001", "UN list", "(CA)", "1 entry", str(user.date_of_birth.year)):
        assert said in shown, (said, born)
    sent = {"entry": str(entry.pk)} | ENDS["screening"]
    reviewer.post(page_of(user, "screening", "close/"), sent)
    assert "Nothing needs you" in list_page(reviewer, "screening")


def test_reviews_lists_ratings_that_are_due(user: User, partner: Partner, reviewer: Client) -> None:
    days = {"due": 0, "soon": 20, "later": 80, "far": 200}
    for name, ahead in days.items():
        made = factories.UserFactory.create(partner=partner, last_name=name.title())
        added(reviewer, made, "riskRating", reviewOn=(today() + timedelta(days=ahead)).isoformat())
    listed: Callable[..., set[str]] = lambda **query: {  # noqa: E731
        name for name in days if name.title() in list_page(reviewer, "riskRating", **query)
    }
    assert listed() == {"due"}
    assert listed(within="30") == {"due", "soon"}
    assert listed(within="90") == {"due", "soon", "later"}


def test_a_review_is_a_new_rating(user: User, reviewer: Client) -> None:
    added(reviewer, user, "riskRating", reviewOn=today().isoformat())
    assert user.full_name in list_page(reviewer, "riskRating")
    added(reviewer, user, "riskRating", reviewOn=(today() + timedelta(days=365)).isoformat())
    assert "Nothing needs you" in list_page(reviewer, "riskRating")


def test_requests_lists_all_that_are_open_the_soonest_first(user: User, partner: Partner, reviewer: Client) -> None:
    other = factories.UserFactory.create(partner=partner)
    added(reviewer, user, "personRequest", dueOn="2099-01-01")
    added(reviewer, other, "personRequest")
    shown = list_page(reviewer, "personRequest")
    assert shown.index(other.external_id) < shown.index(user.external_id)
    assert shown.count("Overdue") == 1


def test_the_first_page_counts_what_needs_somebody(user: User, reviewer: Client) -> None:
    for kind in ("screening", "personRequest"):
        added(reviewer, user, kind)
    added(reviewer, user, "riskRating", reviewOn=(today() + timedelta(days=9)).isoformat())
    response = reviewer.get("/admin/")
    figures = {str(one["title"]): (one["text"], bool(one.get("is_bad"))) for one in response.context["figures"]}
    assert figures["Screening"] == ("1", False)
    assert figures["Reviews"] == ("0", False)
    assert figures["Requests"] == ("1", True)
    assert "Screening" not in words(client_as("viewer").get("/admin/").content.decode())


def test_sandbox_users_are_apart(reviewer: Client) -> None:
    user = factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    added(reviewer, user, "screening")
    assert user.external_id not in list_page(reviewer, "screening")
    assert user.external_id in list_page(reviewer, "screening", mode="sandbox")


def test_the_lists_are_for_who_sees_the_file(user: User) -> None:
    assert client_as("viewer").get("/admin/users/fileentry/screening/").status_code == 403
    assert client_as("auditor").get("/admin/users/fileentry/screening/").status_code == 200


# Exports


def test_the_pack_has_all_entries_without_numbers(user: User, reviewer: Client) -> None:
    for kind in FileKind.values:
        added(reviewer, user, kind)
    records = [*of.file_records(user)]
    assert [one["kind"] for one in records] == FileKind.values
    assert NUMBER not in json.dumps(records, default=str)
    assert all(one["by"] for one in records)


def test_the_persons_copy_has_verifications_and_requests_without_staff(user: User, reviewer: Client) -> None:
    for kind in FileKind.values:
        added(reviewer, user, kind)
    records = [*of.file_records(user, for_person=True)]
    assert {one["kind"] for one in records} == {"identityVerification", "personRequest"}
    assert not any("by" in one for one in records)
