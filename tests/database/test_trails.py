"""Rows that are kept for good say who, when and because of what: as the serving role, each such column is tried.

A forged value is refused, or the database's own is stored instead. A new table or column must be in a line here.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, models, transaction

from core.database import serving_role
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.database import undone
from transactions.models import UserRow
from users.decisions import compliance, proposals
from users.models import ErasureProposal, FileEntry, Hold, Proposal, Requirement, RequirementClosure, StatusChange, User

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """Two users of two partners, and who works on them."""

    user: User
    other: User
    staff: Staff
    disabled: Staff
    requirement: Requirement
    decision_of_other: StatusChange
    proposal: Proposal


@pytest.fixture
def world(partner: Partner) -> Iterator[World]:
    user = factories.UserFactory.create(partner=partner)
    other = factories.UserFactory.create()
    staff, disabled = reviewer(), reviewer()
    requirement = factories.RequirementFactory.create(user=user, by=staff)
    of_other = factories.StatusChangeFactory.create(user=other, by=staff)
    waiting = factories.UserFactory.create(partner=partner)
    with no_rules_left():
        set_rule("always", start="suspended", end="active")
        for status in ("active", "suspended"):
            factories.StatusChangeFactory.create(user=waiting, to_status=status)
        proposal = proposals.propose(compliance.Decision(user=waiting, to_status="active", by=staff, reason="Seen."))
        Staff.objects.filter(pk=disabled.pk).update(is_active=False)
        yield World(user, other, staff, disabled, requirement, of_other, proposal)


def conversion(world: World) -> dict[str, Any]:
    columns = factories.columns_of(factories.ConversionFactory, user=world.user)
    del columns["user"], columns["partner"]
    return columns | {"user_id": world.user.pk, "partner_id": world.user.partner_id}


def document(world: World) -> dict[str, Any]:
    columns = factories.columns_of(factories.DocumentFactory, user=world.user)
    del columns["user"], columns["partner"]
    ids = {"user_id": world.user.pk, "partner_id": world.user.partner_id, "document_id": uuid4()}
    return columns | ids


def suspended(world: World) -> User:
    """A user whom one person may reopen only with a second."""
    user: User = factories.UserFactory.create()
    for status in ("active", "suspended"):
        factories.StatusChangeFactory.create(user=user, to_status=status)
    return user


def decided(world: World) -> StatusChange:
    """A decision whose basis is not recorded yet."""
    columns = {"from_status": "pendingCompliance", "to_status": "active", "reason": "Seen."}
    return StatusChange.objects.create(user=factories.UserFactory.create(), by=world.staff, **columns)


def entry(user: User) -> dict[str, Any]:
    """An entry in the file that another may end."""
    return {"user": user, "kind": "riskRating", "fields": {"rating": "low", "reason": "Salary."}}


def held(world: World) -> Hold:
    """A hold by somebody else."""
    return Hold.objects.create(user=world.user, by=reviewer(), reason="Litigation.")


def erasure(world: World) -> ErasureProposal:
    """One that names nobody yet."""
    return ErasureProposal.objects.create(by=world.staff, reason="Due.", users=1)


NO_DETAIL = {"request_id": "", "detail": ""}
# A row of each table, as the service writes it.
ROWS: dict[str, Callable[[World], dict[str, Any]]] = {
    "users_user": lambda w: {
        "id": uuid4(),
        "partner_id": w.user.partner_id,
        "external_id": "new",
        **factories.columns_of(factories.ProfileFactory),
    },
    "users_statuschange": lambda w: {
        "user_id": factories.UserFactory.create().pk,
        "from_status": "pendingCompliance",
        "to_status": "active",
        "by_id": w.staff.pk,
        "reason": "Seen.",
    },
    "users_proposal": lambda w: {
        "id": uuid4(),
        "user_id": suspended(w).pk,
        "from_status": "suspended",
        "to_status": "active",
        "by_id": w.staff.pk,
        "reason": "Seen.",
    },
    "users_requirement": lambda w: {
        "id": uuid4(),
        "user_id": w.user.pk,
        "code": "purposeOfUse",
        "fields": [],
        "due_in_days": 14,
        "by_id": w.staff.pk,
    },
    "users_requirementresponse": lambda w: {"requirement_id": w.requirement.pk, "note": "For rent."},
    "users_requirementclosure": lambda w: {"requirement_id": w.requirement.pk, "by_id": w.staff.pk},
    "users_accessrecord": lambda w: {"kind": "opened", "user_id": w.user.pk, "staff_id": w.staff.pk, **NO_DETAIL},
    "users_casenote": lambda w: {"user_id": w.user.pk, "staff_id": w.staff.pk, "text": "Called."},
    "users_fileentry": lambda w: {
        "id": uuid4(),
        "user_id": w.user.pk,
        "kind": "riskRating",
        "fields": '{"rating": "low", "reason": "Salary."}',
        "due_on": "2030-01-01",
        "by_id": w.staff.pk,
    },
    "users_hold": lambda w: {"id": uuid4(), "user_id": w.user.pk, "by_id": w.staff.pk, "reason": "Litigation."},
    "users_holdrelease": lambda w: {"hold_id": held(w).pk, "by_id": w.staff.pk, "reason": "It has ended."},
    "users_erasureproposal": lambda w: {"id": uuid4(), "by_id": w.staff.pk, "users": 1, "reason": "Due."},
    "users_proposederasure": lambda w: {"proposal_id": erasure(w).pk, "user_id": w.user.pk},
    "users_claim": lambda w: {"user_id": w.user.pk, "staff_id": w.staff.pk},
    "transactions_conversion": conversion,
    "transactions_document": document,
    "transactions_documentwithdrawal": lambda w: {
        "document_id": factories.DocumentFactory.create(user=w.user).pk,
        "by_id": w.staff.pk,
        "reason": "Wrong.",
    },
    "core_auditentry": lambda w: {
        "actor": w.staff.username,
        "actor_kind": "staff",
        "action": "user.exported",
        "object": "",
        "detail": "{}",
    },
}
# Tables whose rows change, and whose history has who, when and why.
WITH_HISTORY = {
    one.pgh_tracked_model._meta.db_table for one in apps.get_models() if hasattr(one, "pgh_tracked_model")
} - set(ROWS)

Value = Callable[[World], Any]


def always(value: Any) -> Value:
    return lambda _world: value


def disabled_account(world: World) -> Any:
    return world.disabled.pk


# The tables of a user's lists.
OF_LISTS = [row._meta.db_table for row in UserRow.__subclasses__()]
# What is tried in the columns that say who, when and because of what.
FORGED: dict[tuple[str, str], Value] = {
    **dict.fromkeys(
        [
            *(("users_user", name) for name in ("created_at", "updated_at", "status_since", "profile_changed_at")),
            *(("users_user", name) for name in ("identity_changed_at", "waiting_since", "requirements_due_at")),
            ("users_user", "answered_at"),
            *(("users_statuschange", name) for name in ("created_at", "waiting_since")),
            *(("users_proposal", name) for name in ("created_at", "user_updated_at", "ended_at")),
            *(("users_requirement", name) for name in ("created_at", "due_at", "closed_at")),
            *(("users_requirementresponse", "created_at"), ("users_requirementclosure", "created_at")),
            *(("users_accessrecord", "created_at"), ("users_casenote", "created_at"), ("users_claim", "claimed_at")),
            *(("users_fileentry", "created_at"), ("users_hold", "created_at"), ("users_holdrelease", "created_at")),
            *(("users_erasureproposal", "created_at"), ("users_erasureproposal", "ended_at")),
            *((table, "recorded_at") for table in OF_LISTS),
            ("transactions_documentwithdrawal", "created_at"),
            ("core_auditentry", "at"),
        ],
        always(LONG_AGO),
    ),
    **dict.fromkeys(
        [
            *((table, "by_id") for table in ("users_statuschange", "users_proposal", "users_requirement")),
            *(
                (table, "by_id")
                for table in ("users_fileentry", "users_hold", "users_holdrelease", "users_erasureproposal")
            ),
            *((table, "by_id") for table in ("users_requirementclosure", "transactions_documentwithdrawal")),
            *((table, "staff_id") for table in ("users_accessrecord", "users_casenote", "users_claim")),
        ],
        disabled_account,
    ),
    **dict.fromkeys(
        [(table, "is_sandbox") for table in ("users_user", "users_statuschange", "users_fileentry", *OF_LISTS)],
        lambda _w: True,
    ),
    **dict.fromkeys(
        [(table, "partner_id") for table in ("users_statuschange", *OF_LISTS)],
        lambda w: w.other.partner_id,
    ),
    ("users_statuschange", "proposal_id"): lambda w: w.proposal.pk,
    ("users_statuschange", "common_maker"): always("nobody"),
    ("users_proposal", "ended_by_id"): lambda w: w.staff.pk,
    ("users_proposal", "state"): always("approved"),
    ("users_erasureproposal", "ended_by_id"): lambda w: w.staff.pk,
    ("users_erasureproposal", "state"): always("approved"),
    ("users_erasureproposal", "common_maker"): always("nobody"),
    ("users_fileentry", "profile_event"): always(0),
    ("users_fileentry", "context"): always(json.dumps({"staff": "ada"})),
    ("users_fileentry", "is_open"): always("no"),
    ("users_fileentry", "ends_id"): lambda w: FileEntry.objects.create(**entry(w.other)).pk,
    ("users_requirement", "profile_event"): always(0),
    ("users_requirementresponse", "profile_event"): always(0),
    ("users_requirementresponse", "context"): always(json.dumps({"staff": "ada"})),
    ("users_requirementclosure", "decision_id"): lambda w: w.decision_of_other.pk,
    ("core_auditentry", "actor"): always("nobody"),
    ("core_auditentry", "actor_kind"): always(""),
}
# What a row is about, and times that are the partner's data.
SUBJECTS = {
    ("users_user", "partner_id"),
    *((table, "user_id") for table in ROWS if table.startswith(("users_", "transactions_"))),
    *(("users_holdrelease", "hold_id"), ("users_proposederasure", "proposal_id")),
    ("users_erasureproposal", "partner_id"),
    *(("users_requirementresponse", "requirement_id"), ("users_requirementclosure", "requirement_id")),
    ("transactions_documentwithdrawal", "document_id"),
    *((table, "created_at") for table in OF_LISTS),
}


def stores(row: dict[str, Any], table: str, column: str) -> bool:
    """Whether the table takes this row with this value of the column: not another one, nor a refusal."""
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s",
            [table, column],
        )
        statement = f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING {column} = %s::{cursor.fetchone()[0]}"
        try:
            with transaction.atomic():
                cursor.execute(statement, [*row.values(), row[column]])
        except IntegrityError:
            return False
        except ProgrammingError as error:
            if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
                raise
            return False
        return bool(cursor.fetchone()[0])


def test_a_row_as_the_service_writes_it_is_accepted_and_a_forged_value_refused_or_replaced(
    world: World, subtests: pytest.Subtests
) -> None:
    for table, written in ROWS.items():
        with undone(), connection.cursor() as cursor:
            row = written(world)
            with subtests.test(table), undone():
                names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
                cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
            for column in (column for of, column in FORGED if of == table):
                with subtests.test(f"{table}.{column}"), undone():
                    assert not stores(row | {column: FORGED[table, column](world)}, table, column)


# w: the world.
ENDS = {
    "approved by nobody": "UPDATE users_proposal SET state = 'approved' WHERE id = '{w.proposal.pk}'",
    "approved without a decision": (
        "UPDATE users_proposal SET state = 'approved', ended_by_id = {w.staff.pk} WHERE id = '{w.proposal.pk}'"
    ),
    "declined by nobody": "UPDATE users_proposal SET state = 'declined', note = 'No.' WHERE id = '{w.proposal.pk}'",
    "declined without a note": (
        "UPDATE users_proposal SET state = 'declined', ended_by_id = {w.staff.pk} WHERE id = '{w.proposal.pk}'"
    ),
    "expired at once": "UPDATE users_proposal SET state = 'expired' WHERE id = '{w.proposal.pk}'",
    "overtaken by nothing": "UPDATE users_proposal SET state = 'overtaken' WHERE id = '{w.proposal.pk}'",
    "ended without an end": "UPDATE users_proposal SET ended_by_id = {w.staff.pk} WHERE id = '{w.proposal.pk}'",
    "proposed by another": "UPDATE users_proposal SET by_id = {w.disabled.pk} WHERE id = '{w.proposal.pk}'",
    "closed by another user's decision": (
        "INSERT INTO users_requirementclosure (requirement_id, by_id, decision_id)"
        " VALUES ('{w.requirement.pk}', {w.staff.pk}, {w.decision_of_other.pk})"
    ),
    "a claim moved to another": "UPDATE users_claim SET staff_id = {w.disabled.pk}",
    "an act of no kind by staff": (
        "INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)"
        " VALUES ('{w.staff.username}', '', 'user.exported', '', '{{}}')"
    ),
    "an act of an unknown partner": (
        "INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)"
        " VALUES ('nobody', 'partner', 'user.exported', '', '{{}}')"
    ),
}


def test_an_end_without_who_and_why_is_refused(world: World, subtests: pytest.Subtests) -> None:
    for name, statement in ENDS.items():
        with subtests.test(name):
            with pytest.raises(DatabaseError) as refused, transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement.format(w=world))
            assert getattr(refused.value.__cause__, "sqlstate", "")[:2] in {"23", "42"}, refused.value


def test_a_closure_names_only_a_decision_that_closed_it(world: World) -> None:
    """An earlier one of the same user, or one that closes nothing, closes no requirement."""
    user = factories.UserFactory.create(status="active")
    later = factories.RequirementFactory.create(user=user, by=world.staff)
    earlier = StatusChange.objects.get(user=user)
    suspension = factories.StatusChangeFactory.create(user=user, to_status="suspended", by=world.staff)
    for decision in (earlier, suspension):
        with pytest.raises(DatabaseError, match="A decision closes"), transaction.atomic():
            RequirementClosure.objects.create(requirement=later, by=world.staff, decision=decision)
    closing = factories.StatusChangeFactory.create(user=user, to_status="closed", by=world.staff)
    assert RequirementClosure.objects.get(requirement=later).decision == closing


def kept_for_good() -> dict[str, type[models.Model]]:
    """The tables to which the serving role adds rows that it cannot remove, nor replace; claims, and the audit log."""
    found = {"users_claim", "core_auditentry"}
    for table, granted in serving_role.declared()[0].items():
        kinds = {one.split(" ")[0] for one in granted}
        if "INSERT" in kinds and "DELETE" not in kinds and "UPDATE" not in granted:
            found.add(table)
    of_table = {model._meta.db_table: model for model in apps.get_models() if not model._meta.proxy}
    return {table: of_table[table] for table in found}


def test_every_table_and_column_is_here() -> None:
    kept = kept_for_good()
    assert set(kept) - WITH_HISTORY == set(ROWS)
    telling = (models.DateTimeField, models.DurationField, models.ForeignKey)
    columns = {
        (table, field.column)
        for table, model in kept.items()
        if table not in WITH_HISTORY
        for field in model._meta.concrete_fields
        if isinstance(field, telling)
    }
    assert columns - set(FORGED) - SUBJECTS == set()
    assert not {pair for pair in set(FORGED) | SUBJECTS if pair[0] not in ROWS}
