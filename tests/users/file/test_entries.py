"""The file of a user: what each kind takes, what is open, what keeps records, and who sees a number."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, transaction
from pytest_django import Settings
from rest_framework.exceptions import ValidationError

from core.database import serving_role
from core.models import AuditEntry
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import reviewer as new_reviewer
from tests.support.commands import outcome
from tests.support.erasing import approve_erasure, date_back, erase
from users import retention
from users.decisions import compliance
from users.decisions.reasons import REASONS
from users.decisions.risk_flags import risk_flag_codes
from users.file import entries
from users.file.kinds import KINDS
from users.models import AccessRecord, FileEntry, User
from users.profile import field_rules
from users.refusals import ReasonMissingError

DATA: dict[str, dict[str, Any]] = {
    "identityVerification": {
        "method": "photoDocument",
        "verifiedOn": "2026-01-15",
        "documentType": "passport",
        "documentNumber": "P-4711",
        "issuingCountry": "CA",
    },
    "screening": {"list": "UN", "listDate": "2026-11-01", "result": "possibleMatch", "reference": "QDi.1"},
    "riskRating": {"rating": "low", "reason": "Salary.", "reviewOn": "2027-01-01"},
    "personRequest": {"request": "access", "receivedOn": "2026-01-15", "identityCheck": "By phone."},
}
RESOLVED = {"resolution": "falsePositive", "note": "Another birth date."}
CLOSED = {"outcome": "Given.", "closedOn": "2026-02-01"}


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner)
    return made


def record(user: User, kind: str, by: Staff, **changed: Any) -> FileEntry:
    return entries.record(user_id=user.pk, born=user.date_of_birth, kind=kind, data=DATA[kind] | changed, by=by)


def flags(user: User) -> list[str]:
    return risk_flag_codes([user])[user.pk]


def test_an_entry_says_who_and_when_and_leaves_a_line(user: User, reviewer: Staff) -> None:
    made = {kind: record(user, kind, reviewer) for kind in DATA}
    lines = AuditEntry.objects.filter(action="fileEntry.recorded", object=str(user.pk)).order_by("id")
    assert [line.detail["kind"] for line in lines] == list(made)
    for entry, line in zip(made.values(), lines, strict=True):
        assert (entry.author, entry.user, entry.by) == (reviewer.username, user, reviewer)
        assert (line.actor, line.actor_kind, line.detail["entry"]) == (reviewer.username, "staff", str(entry.pk))
        assert not [text for text in ("P-4711", "QDi.1", "Salary", "By phone") if text in str(line.detail)]


def test_who_may_decide_records(user: User) -> None:
    for role in ("viewer", "auditor"):
        by = factories.StaffFactory.create(role=role)
        for kind in DATA:
            with pytest.raises(RefusedError):
                record(user, kind, by)
    assert not FileEntry.objects.exists()


FIELDS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("screening", {"list": "x" * 101}, {"list": "length"}),
    ("screening", {"result": "maybe"}, {"result": "notAllowed"}),
    ("screening", {"listDate": "2999-01-01"}, {"listDate": "range"}),
    ("screening", {"reference": ""}, {"reference": "length"}),
    ("riskRating", {"rating": "none", "reason": ""}, {"rating": "notAllowed", "reason": "length"}),
    ("riskRating", {"reviewOn": "2999-01-01"}, {"reviewOn": "range"}),
    ("personRequest", {"request": "money"}, {"request": "notAllowed"}),
    ("personRequest", {"receivedOn": "2999-01-01"}, {"receivedOn": "range"}),
    ("personRequest", {"dueOn": "2026-01-14"}, {"dueOn": "range"}),
    ("personRequest", {"identityCheck": ""}, {"identityCheck": "length"}),
    ("personRequest", {"outcome": "Given."}, {"outcome": "unknown"}),
]


def test_the_fields_of_each_kind(user: User, reviewer: Staff) -> None:
    found = []
    for kind, changed, _codes in FIELDS:
        with pytest.raises(ValidationError) as refused:
            record(user, kind, reviewer, **changed)
        detail: Any = refused.value.detail
        found.append((kind, changed, {name: errors[0].code for name, errors in detail.items()}))
    assert found == FIELDS


@pytest.mark.usefixtures("within_one_day")
def test_a_review_is_up_to_five_years_ahead(user: User, reviewer: Staff) -> None:
    today = field_rules.today()
    latest = today.replace(year=today.year + 5, day=min(today.day, 28))
    record(user, "riskRating", reviewer, reviewOn=str(latest))
    with pytest.raises(ValidationError):
        record(user, "riskRating", reviewer, reviewOn=str(latest + timedelta(days=8)))


def test_a_request_is_due_thirty_days_later_unless_given(user: User, reviewer: Staff) -> None:
    given = [record(user, "personRequest", reviewer), record(user, "personRequest", reviewer, dueOn="2026-03-01")]
    assert [str(entry.due_on) for entry in given] == ["2026-02-14", "2026-03-01"]


def test_an_entry_is_ended_once_by_another(user: User, reviewer: Staff) -> None:
    for kind, end in (("screening", RESOLVED), ("personRequest", CLOSED)):
        entry = record(user, kind, reviewer)
        with pytest.raises(ValidationError):
            entries.end(entry_id=entry.pk, data={}, by=reviewer)
        ended = entries.end(entry_id=entry.pk, data=end, by=reviewer)
        assert (ended.ends, ended.fields, ended.is_open) == (entry, end, False)
        with pytest.raises(RefusedError, match="closed already"):
            entries.end(entry_id=entry.pk, data=end, by=reviewer)
        assert list(entries.open_entries(KINDS[kind])) == []
        # What counts is the result or the request, not its end.
        assert [one for one in entries.newest(user) if one.kind == kind] == [entry]


def test_other_kinds_are_not_ended(user: User, reviewer: Staff) -> None:
    for kind in ("identityVerification", "riskRating"):
        entry = record(user, kind, reviewer)
        with pytest.raises(RefusedError, match="add another"):
            entries.end(entry_id=entry.pk, data={}, by=reviewer)


def test_an_entry_of_another_user_or_kind_is_not_ended(user: User, reviewer: Staff) -> None:
    match, other = record(user, "screening", reviewer), factories.UserFactory.create()
    for wrong in ({"user": other, "kind": "screening"}, {"user": user, "kind": "personRequest"}):
        fields = RESOLVED if wrong["kind"] == "screening" else CLOSED
        with pytest.raises(DatabaseError, match="closed already"), transaction.atomic():
            FileEntry.objects.create(**wrong, fields=fields, ends=match)


def test_the_newest_of_a_kind_counts(user: User, reviewer: Staff) -> None:
    record(user, "riskRating", reviewer)
    high = record(user, "riskRating", reviewer, rating="high")
    matches = [record(user, "screening", reviewer, reference=name) for name in ("QDi.1", "QDi.2")]
    assert set(entries.newest(user)) == {high, *matches}


def test_an_unresolved_match_needs_a_note_to_approve(user: User, reviewer: Staff) -> None:
    match = record(user, "screening", reviewer)
    assert flags(user) == ["unresolvedMatch"]
    [standard, *_] = REASONS["pendingCompliance", "active"]
    approval = compliance.Decision(user=user, to_status="active", by=reviewer, reason=standard.text())
    with pytest.raises(ReasonMissingError, match="Possible match not resolved: add a note"):
        compliance.decide(approval)
    # A later result resolves nothing: a person does.
    record(user, "screening", reviewer, result="clear")
    assert flags(user) == ["unresolvedMatch"]
    entries.end(entry_id=match.pk, data=RESOLVED, by=reviewer)
    assert flags(user) == []
    compliance.decide(approval)


def test_with_a_note_it_is_approved_and_the_decision_keeps_the_flag(user: User, reviewer: Staff) -> None:
    record(user, "screening", reviewer)
    reason = "Another birth date than that on the list."
    decided = compliance.decide(compliance.Decision(user=user, to_status="active", by=reviewer, reason=reason))
    assert decided.basis is not None
    [flag] = decided.basis["riskFlags"]
    assert (flag["code"], flag["data"]["list"]) == ("unresolvedMatch", "UN")


def test_a_number_is_shown_to_who_may_decide_and_each_showing_is_in_the_access_log(user: User, reviewer: Staff) -> None:
    entry = record(user, "identityVerification", reviewer)
    lines = {line.label: line for line in entries.described(entry)}
    assert "P-4711" not in str(lines) + str(entry.fields)
    for _ in range(2):
        assert entries.reveal(entry=entry, secret="documentNumber", by=reviewer, request_id="r") == "P-4711"
    shown = AccessRecord.objects.filter(user=user, kind="revealed", staff=reviewer)
    assert len(shown) == 2
    assert "P-4711" not in str(shown.values())
    with pytest.raises(RefusedError):
        entries.reveal(entry=entry, secret="documentNumber", by=factories.StaffFactory.create(role="auditor"))
    assert len(shown.all()) == 2


def test_an_open_request_is_a_hold(user: User, reviewer: Staff) -> None:
    assert not retention.held({user.pk})
    entry = record(user, "personRequest", reviewer)
    assert retention.held({user.pk})
    entries.end(entry_id=entry.pk, data=CLOSED, by=reviewer)
    assert not retention.held({user.pk})


def test_an_open_request_keeps_the_records_and_all_of_the_file_goes_with_them(committed_partner: Partner) -> None:
    by = new_reviewer()
    user = factories.UserFactory.create(partner=committed_partner, external_id=f"old-{uuid.uuid4()}", status="closed")
    request = record(user, "personRequest", by)
    entries.end(entry_id=record(user, "screening", by).pk, data=RESOLVED, by=by)
    record(user, "identityVerification", by)
    date_back(user.pk, datetime(2015, 6, 1, tzinfo=UTC))
    [due] = outcome("retention_report")["users"]
    assert (due["userId"], due["held"]) == (str(user.pk), True)
    with pytest.raises(RefusedError):
        approve_erasure(user)
    entries.end(entry_id=request.pk, data=CLOSED, by=by)
    approve_erasure(user)
    again = record(user, "personRequest", by)
    assert outcome("erase_due")["held"] == 1
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="held"):
            erase(owner, user)
        entries.end(entry_id=again.pk, data=CLOSED, by=by)
        erase(owner, user)
    assert not FileEntry.objects.filter(user_id=user.pk).exists()


@pytest.mark.usefixtures("committed_partner")
def test_the_owner_alone_reencrypts_and_changes_nothing_else(settings: Settings, committed_partner: Partner) -> None:
    settings.SECRETS_ENCRYPTION_KEYS = ["the-older-0123456789-abcdefghijklmnopqr"]
    user, by = factories.UserFactory.create(partner=committed_partner), new_reviewer()
    entry = record(user, "identityVerification", by)
    settings.SECRETS_ENCRYPTION_KEYS = ["the-newer-9876543210-abcdefghijklmnopqr", *settings.SECRETS_ENCRYPTION_KEYS]
    assert outcome("reencrypt_secrets", "--dry-run")["fileEntries"]["renewed"] == 1
    assert outcome("reencrypt_secrets")["fileEntries"] == {"renewed": 1, "current": 0, "unreadable": []}
    del settings.SECRETS_ENCRYPTION_KEYS[1]
    assert entries.reveal(entry=FileEntry.objects.get(pk=entry.pk), secret="documentNumber", by=by) == "P-4711"
    for change in (
        "fields = '{}'",
        "encrypted = ''",
        "is_open = NOT is_open",
        "due_on = now()",
        "encrypted = 'x', kind = 'x'",
    ):
        for alias in (serving_role.OWNER, serving_role.SERVING):
            with psycopg.connect(database_url(alias)) as session, pytest.raises(psycopg.Error):
                session.execute(f"UPDATE users_fileentry SET {change} WHERE id = '{entry.pk}'")
    with psycopg.connect(database_url(serving_role.SERVING)) as session, pytest.raises(psycopg.Error):
        session.execute("UPDATE users_fileentry SET encrypted = 'x'")
