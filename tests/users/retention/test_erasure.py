"""Erasing a user: docs/operations.md, "Records". The database is the guard, whoever calls it."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connections
from psycopg.errors import IntegrityConstraintViolation, RestrictViolation

from core.database import serving_role
from core.models import AuditEntry
from events.models import Event, OutboxEntry
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.erasing import approve_erasure, date_back, erase
from users import retention
from users.decisions import compliance, proposals
from users.models import Erasure, Hold, HoldRelease, Proposal, Status, StatusChange, User, UserEvent

pytestmark = pytest.mark.usefixtures("committed_partner")
LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)


@pytest.fixture
def staff(committed_partner: Partner) -> Staff:
    return factories.StaffFactory.create(username=f"r-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def owner(committed_partner: Partner) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as session:
        yield session


def old_user(partner: Partner, status: Status = Status.REJECTED, since: datetime = LONG_AGO) -> User:
    user: User = factories.UserFactory.create(partner=partner, external_id=f"old-{uuid.uuid4()}", status=status)
    date_back(user.pk, since)
    return user


def test_what_the_owner_erases_and_what_is_left(committed_partner: Partner, owner: psycopg.Connection) -> None:
    user = old_user(committed_partner, Status.CLOSED)
    factories.add_conversions(user, [LONG_AGO, LONG_AGO - timedelta(days=1)])
    proposal = approve_erasure(user)
    with pytest.raises(psycopg.errors.CheckViolation, match="years_of_the_law"):
        erase(owner, user, years=4)
    with (
        psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as session,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        erase(session, user)
    erase(owner, user)
    with pytest.raises(IntegrityConstraintViolation, match="no such user"):
        erase(owner, user)
    left = Erasure.objects.get(pk=user.pk)
    assert (left.partner, left.proposal, left.years) == (committed_partner, proposal, 5)
    assert (left.proposed_by, left.approved_by) == (proposal.by, proposal.ended_by)
    assert left.due_at == LONG_AGO.replace(year=2020)
    assert left.rows["users_user"] == 1
    assert left.rows["transactions_conversion"] == 2
    assert left.rows["users_statuschange"] == 2
    assert not User.objects.filter(pk=user.pk).exists()
    assert not UserEvent.objects.filter(pgh_obj_id=user.pk).exists()
    assert not StatusChange.objects.filter(user_id=user.pk).exists()
    [entry] = AuditEntry.objects.filter(object=str(user.pk))
    assert (entry.action, entry.actor) == ("user.erased", "")
    assert entry.detail == {
        "partner": committed_partner.slug,
        "dueAt": "2020-06-01T00:00:00.000000Z",
        "proposedBy": left.proposed_by.username,
        "approvedBy": left.approved_by.username,
        "rows": left.rows,
    }
    [event] = OutboxEntry.objects.filter(partner=committed_partner)
    assert (event.type, event.user_ids) == ("user.erased", [user.pk])
    assert event.data == {"externalId": user.external_id, "userId": str(user.pk)}


def test_what_was_decided_about_others_no_longer_names_it(
    committed_partner: Partner, owner: psycopg.Connection
) -> None:
    user = old_user(committed_partner)
    names = {"email": user.email, "partner": committed_partner}
    stays = factories.UserFactory.create(external_id=f"same-{uuid.uuid4()}", **names)
    other = factories.UserFactory.create(external_id=f"other-{uuid.uuid4()}", **names, status=Status.SUSPENDED)
    with no_rules_left():
        set_rule("always", start="suspended")
        proposal = proposals.propose(compliance.Decision(user=other, to_status="active", by=reviewer(), reason="Seen."))
    decision = other.status_changes.latest("id")
    named = [named_by(decision), named_by(proposal)]
    assert all({str(user.pk), str(stays.pk)} <= set(ids) for ids in named)
    approve_erasure(user)
    erase(owner, user)
    decision.refresh_from_db()
    proposal.refresh_from_db()
    # The number stays, and so does everybody else.
    expected = [[None if one == str(user.pk) else one for one in ids] for ids in named]
    assert [named_by(decision), named_by(proposal)] == expected
    assert proposal.state == "open"
    assert not AuditEntry.objects.filter(object=str(other.pk), action="user.proposalEnded").exists()
    with pytest.raises(IntegrityConstraintViolation, match="kept for good"):
        owner.execute("UPDATE users_statuschange SET basis = NULL WHERE id = %s", (decision.pk,))


def named_by(row: StatusChange | Proposal) -> list[Any]:
    assert row.basis is not None
    return [one for flag in row.basis["riskFlags"] for one in flag["data"].get("userIds", [])]


def test_the_clock_begins_with_the_end_of_the_user_and_with_each_newer_row(
    committed_partner: Partner, owner: psycopg.Connection, subtests: pytest.Subtests
) -> None:
    users = {
        status.value: old_user(committed_partner, status)
        for status in (Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.SUSPENDED)
    }
    users["of a sandbox"] = old_user(factories.PartnerFactory.create(slug=f"s-{uuid.uuid4()}", mode=Mode.SANDBOX))
    for name, add in (("conversion", factories.add_conversions), ("document", factories.add_documents)):
        users[name] = old_user(committed_partner, Status.CLOSED)
        add(users[name], [datetime.now(UTC) - timedelta(days=5 * 365)])
    for name, user in users.items():
        with subtests.test(name), pytest.raises(IntegrityConstraintViolation, match="not due"):
            erase(owner, user)


def test_the_years_are_those_of_the_calendar(committed_partner: Partner, owner: psycopg.Connection) -> None:
    user = old_user(committed_partner, since=datetime(2016, 2, 29, 7, tzinfo=UTC))
    approve_erasure(user)
    erase(owner, user)
    assert Erasure.objects.get(pk=user.pk).due_at == datetime(2021, 2, 28, 7, tzinfo=UTC)


def test_a_held_user_stays_until_another_person_releases_it(
    committed_partner: Partner, owner: psycopg.Connection, staff: Staff
) -> None:
    user, other = old_user(committed_partner), factories.StaffFactory.create(username=f"o-{uuid.uuid4().hex[:12]}")
    approve_erasure(user)
    first, second = (retention.place_hold(user=user, by=staff, reason="Litigation.") for _ in range(2))
    for hold in (first, second):
        with pytest.raises(IntegrityConstraintViolation, match="are held"):
            erase(owner, user)
        assert not retention.erase(user.pk, context={"command": "erase_due"}, using=serving_role.OWNER)
        retention.release_hold(hold_id=hold.pk, by=other, reason="It has ended.")
    erase(owner, user)
    assert not Hold.objects.filter(pk__in=(first.pk, second.pk)).exists()
    assert not HoldRelease.objects.filter(pk__in=(first.pk, second.pk)).exists()


STATEMENTS = [
    "DELETE FROM users_user WHERE id = %(other)s",
    "DELETE FROM users_userevent WHERE pgh_obj_id = %(other)s",
    "DELETE FROM users_statuschange WHERE user_id = %(due)s",
    "DELETE FROM core_auditentry WHERE object = %(other)s::text",
    "DELETE FROM users_erasure",
    "UPDATE users_erasure SET rows = '{}'",
    "UPDATE users_erasure SET erased_at = now() - interval '1 day'",
    "TRUNCATE users_erasure",
    # After, and in the statement of, an erasure.
    "{erase}; DELETE FROM users_userevent WHERE pgh_obj_id = %(other)s",
    "WITH erased AS ({erase}) DELETE FROM users_userevent WHERE pgh_obj_id = %(other)s",
    "{erase}; UPDATE users_erasure SET rows = '{{}}'; DELETE FROM users_user WHERE id = %(other)s",
]


def test_the_owner_deletes_nothing_else(
    committed_partner: Partner, owner: psycopg.Connection, subtests: pytest.Subtests
) -> None:
    gone, due, other = (old_user(committed_partner) for _ in range(3))
    approve_erasure(gone, due)
    erase(owner, gone)
    erase_due = "INSERT INTO users_erasure (user_id, years) VALUES (%(due)s, 5)"
    values = {"due": due.pk, "other": other.pk}
    for statement in STATEMENTS:
        with (
            subtests.test(statement),
            psycopg.ClientCursor(owner) as cursor,
            owner.transaction(force_rollback=True),
            pytest.raises((IntegrityConstraintViolation, RestrictViolation)),
        ):
            cursor.execute(statement.replace("{erase}", erase_due).replace("{{}}", "{}"), values)
    assert User.objects.filter(pk__in=(due.pk, other.pk)).count() == 2
    assert UserEvent.objects.filter(pgh_obj_id=other.pk).exists()


def test_others_of_a_shared_entry_keep_theirs(committed_partner: Partner, owner: psycopg.Connection) -> None:
    user, other = old_user(committed_partner), old_user(committed_partner)
    conversions = [
        factories.ConversionFactory.build(user=one, created_at=LONG_AGO, conversion_id=f"cv-{uuid.uuid4()}")
        for one in (user, other, user)
    ]
    factories.insert_conversions(conversions)
    approve_erasure(user)
    erase(owner, user)
    [entry] = OutboxEntry.objects.filter(partner=committed_partner, type="user.transactionsRecorded")
    assert (entry.user_ids, entry.external_ids, entry.size) == ([other.pk], [other.external_id], 1)
    assert entry.times == [LONG_AGO]


def test_a_writer_is_waited_for(committed_partner: Partner, owner: psycopg.Connection, staff: Staff) -> None:
    """A hold that is being placed is seen; one that comes later finds no user."""
    user = old_user(committed_partner)
    approve_erasure(user)
    placed = threading.Event()
    with psycopg.connect(database_url(serving_role.SERVING)) as session, ThreadPoolExecutor(1) as pool:
        session.execute(
            "INSERT INTO users_hold (id, user_id, by_id, reason, created_at)"
            " VALUES (gen_random_uuid(), %s, %s, 'Seen.', now())",
            (user.pk, staff.pk),
        )
        placed.set()
        erasing = pool.submit(erase, owner, user)
        session.commit()
        with pytest.raises(IntegrityConstraintViolation, match="are held"):
            erasing.result()
    assert not Event.objects.filter(user_id=user.pk, type="user.erased").exists()
    connections.close_all()
