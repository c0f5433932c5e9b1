"""Triggers on users: a status moves only by a row in StatusChange, whose insert checks the move (contract, 8)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pgtrigger
from django.utils.translation import gettext_lazy as _

from core.audit import entry_trigger, register
from core.database.schema import wire_time
from core.database.triggers import PermanentTrigger, append_only, json_object, refuse, stamped, trigger
from events.models import EventType, outbox_entry
from users.models.columns import PROFILE_COLUMNS, REVIEWED_COLUMNS, names_of_user
from users.models.statuses import ENDED_STATUSES, TRANSITIONS, Status, status_reason_sql

_ALLOWED_MOVES = tuple(f"{start.value} {end.value}" for start, ends in TRANSITIONS.items() for end in ends)

# Statuses to which a decision closes all requirements.
_ENDING = ", ".join(f"'{status.value}'" for status in (Status.ACTIVE, *ENDED_STATUSES))
_IS_MOVED = "OLD.status IS DISTINCT FROM NEW.status"
# In the conditions of lines: what the sandbox simulates is the partner's own.
NOT_SIMULATED = "context ->> 'staff' <> 'sandbox'"
_IDENTITY = ("id", "partner_id", "external_id", "is_sandbox", "created_at")


def _of(row: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{row}.{column}" for column in columns)


_STATUS_CHANGED = outbox_entry(
    EventType.STATUS_CHANGED,
    source="(SELECT NEW.*) AS u",
    status="u.status",
    statusReason=status_reason_sql("u.status", "u.status_reason_code"),
    updatedAt=wire_time("u.updated_at"),
)

# PostgreSQL parses a condition again in each UPDATE, a profile's in 50 µs: long ones are part of the function, or come
# after the columns that the UPDATE must name.
USER_TRIGGERS = [
    trigger(
        "mode_of_partner",
        "before insert",
        "NEW.is_sandbox := (SELECT mode = 'sandbox' FROM partners_partner WHERE id = NEW.partner_id);",
    ),
    trigger(
        "first_status",
        "before insert",
        refuse("A user begins as pendingCompliance."),
        condition=f"NEW.status <> '{Status.PENDING_COMPLIANCE.value}'",
    ),
    trigger(
        "identity_immutable",
        f"before update of {', '.join(_IDENTITY)}",
        refuse("The identity of a user does not change."),
        condition=f"ROW({_of('OLD', _IDENTITY)}) IS DISTINCT FROM ROW({_of('NEW', _IDENTITY)})",
    ),
    trigger("status_machine", "before update of status", function="users_status_machine", condition=_IS_MOVED),
    # The clock of retention and the rules of two people read them: they are what the history says, for any role.
    trigger(
        "status_kept",
        "before update of status_since, status_reason_code",
        refuse("Since when and why a user has its status is what its decision says."),
        condition="OLD.status = NEW.status AND ROW(OLD.status_since, OLD.status_reason_code)"
        " IS DISTINCT FROM ROW(NEW.status_since, NEW.status_reason_code)",
    ),
    # updatedAt moves with every change of profile or status, and with nothing else, even within one clock tick.
    trigger(
        "touch",
        "before update",
        f"""
            IF ROW({_of("OLD", PROFILE_COLUMNS)}) IS DISTINCT FROM ROW({_of("NEW", PROFILE_COLUMNS)}) THEN
                NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at + interval '1 microsecond');
                NEW.profile_changed_at := NEW.updated_at;
                IF NEW.status = 'active'
                    AND ROW({_of("OLD", REVIEWED_COLUMNS)}) IS DISTINCT FROM ROW({_of("NEW", REVIEWED_COLUMNS)}) THEN
                    NEW.identity_changed_at := NEW.updated_at;
                END IF;
            ELSIF OLD.status IS DISTINCT FROM NEW.status THEN
                NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at + interval '1 microsecond');
            END IF;
        """,
    ),
    trigger("event", "after update of status", f"{_STATUS_CHANGED};", condition=_IS_MOVED),
    *append_only(pgtrigger.Delete),
]


def by_active_staff(column: str, *, optional: bool = False) -> PermanentTrigger:
    """The trigger that refuses a row by a disabled account. column: the account's. optional: whether it may be null."""
    return trigger(
        "by_active_staff",
        "before insert",
        f"""
            IF NOT EXISTS (SELECT FROM staff_staff s WHERE s.id = NEW.{column} AND s.is_active) THEN
                {refuse("An active staff account does this.")}
            END IF;
        """,
        condition=f"NEW.{column} IS NOT NULL" if optional else "",
    )


def username(column: str) -> str:
    """The SQL of the name of an account. column: of NEW."""
    return f"(SELECT username FROM staff_staff WHERE id = NEW.{column})"


def staff_entry(
    action: str, label: Any, detail: Mapping[str, str], *, user: str = "NEW.user_id", by: str = "by_id", **options: Any
) -> PermanentTrigger:
    """The trigger that adds a line of what an account did about a user. detail: SQL by name; by: the column."""
    given: Any = {"object": f"{user}::text", **options}
    entry = {"detail": json_object(detail), "actor": username(by), "further": names_of_user(user), **given}
    return entry_trigger(f"'{register(action, label)}'", **entry)


STATUS_CHANGE_TRIGGERS = [
    by_active_staff("by_id"),
    trigger("moves_from_present", "before insert", function="users_decision_from_present", arguments=_ALLOWED_MOVES),
    trigger("moves_user", "after insert", "UPDATE users_user SET status = NEW.to_status WHERE id = NEW.user_id;"),
    staff_entry(
        "user.decided",
        _("Decision"),
        {"changes": "jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status))"}
        | {"reason": "NEW.reason", "reasonCode": "nullif(NEW.reason_code, '')"}
        | {"commonMaker": "nullif(NEW.common_maker, '')"},
        where=NOT_SIMULATED,
    ),
    *append_only(blanked="basis"),
    # By their names these come after `moves_from_present`: users/models/approvals.py.
    trigger("two_people", "before insert", function="users_decision_two_people"),
    trigger(
        "ends_proposal",
        "after insert",
        "UPDATE users_proposal SET state = 'approved', ended_by_id = NEW.by_id WHERE id = NEW.proposal_id;",
        condition="NEW.proposal_id IS NOT NULL",
    ),
    # A decision that lets the user through is refused while something is open.
    trigger(
        "nothing_open",
        "before insert",
        function="users_decision_nothing_open",
        condition=f"NEW.to_status = '{Status.ACTIVE.value}'",
    ),
    trigger(
        "verified_identity",
        "before insert",
        function="users_decision_verified_identity",
        condition=f"NEW.to_status = '{Status.ACTIVE.value}'",
    ),
    # By its name it comes after `moves_user`: the event of the status is the first.
    trigger(
        "requirements_end",
        "after insert",
        function="users_decision_ends_requirements",
        condition=f"NEW.to_status IN ({_ENDING})",
    ),
]

ACCESS_TRIGGERS = [
    stamped("created_at"),
    by_active_staff("staff_id"),
    # Openings and claims are in the access log alone.
    staff_entry(
        "user.exported",
        _("Exported"),
        {"export": "nullif(NEW.detail, '')", "requestId": "nullif(NEW.request_id, '')"},
        name="audit_exported",
        condition="NEW.kind = 'exported'",
        object="coalesce(NEW.user_id::text, '')",
        by="staff_id",
    ),
]
