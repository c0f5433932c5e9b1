"""Triggers on users: contract, section 8.

A status moves only by a row in StatusChange: its insert checks the move against the present status and updates the
user; an update of the status without such a row is refused.
"""

from collections.abc import Sequence

import pgtrigger
from django.utils.translation import gettext_lazy as _

from core.audit import entry_trigger, register
from core.database.query import wire_time
from core.database.triggers import FunctionTrigger, PermanentTrigger, append_only, json_object, refuse, stamped
from events.models import EventType
from events.models.feed import outbox_entry
from users.models.columns import PROFILE_COLUMNS, REVIEWED_COLUMNS, names_of_user
from users.models.statuses import ENDED_STATUSES, TRANSITIONS, Status, status_reason_sql

_ALLOWED_MOVES = tuple(f"{start.value} {end.value}" for start, ends in TRANSITIONS.items() for end in ends)

# Statuses to which a decision closes all requirements.
_ENDING = ", ".join(f"'{status.value}'" for status in (Status.ACTIVE, *ENDED_STATUSES))
_IDENTITY = ("id", "partner_id", "external_id", "is_sandbox", "created_at")


def _of(row: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{row}.{column}" for column in columns)


_STATUS_CHANGED = outbox_entry(
    EventType.STATUS_CHANGED,
    source="(SELECT NEW.*) AS u",
    partner="u.partner_id",
    user="u.id",
    data={
        "externalId": "u.external_id",
        "userId": "u.id",
        "status": "u.status",
        "statusReason": status_reason_sql("u.status", "u.status_reason_code"),
        "updatedAt": wire_time("u.updated_at"),
    },
)

# PostgreSQL parses a condition again in each UPDATE, a profile's in 50 µs: long ones are part of the function, or come
# after the columns that the UPDATE must name.
USER_TRIGGERS = [
    PermanentTrigger(
        name="mode_of_partner",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func="""
            NEW.is_sandbox := (SELECT mode = 'sandbox' FROM partners_partner WHERE id = NEW.partner_id);
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="first_status",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition(f"NEW.status <> '{Status.PENDING_COMPLIANCE.value}'"),
        func=refuse("A user begins as pendingCompliance."),
    ),
    PermanentTrigger(
        name="identity_immutable",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf(*_IDENTITY),  # type: ignore[no-untyped-call]
        condition=pgtrigger.Condition(f"ROW({_of('OLD', _IDENTITY)}) IS DISTINCT FROM ROW({_of('NEW', _IDENTITY)})"),
        func=refuse("The identity of a user does not change."),
    ),
    FunctionTrigger(
        name="status_machine",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf("status"),  # type: ignore[no-untyped-call]
        condition=pgtrigger.Condition("OLD.status IS DISTINCT FROM NEW.status"),
        function="users_status_machine",
    ),
    # The clock of retention and the rules of two people read them: they are what the history says, for any role.
    PermanentTrigger(
        name="status_kept",
        when=pgtrigger.Before,
        operation=pgtrigger.UpdateOf("status_since", "status_reason_code"),  # type: ignore[no-untyped-call]
        condition=pgtrigger.Condition(
            "OLD.status = NEW.status AND ROW(OLD.status_since, OLD.status_reason_code)"
            " IS DISTINCT FROM ROW(NEW.status_since, NEW.status_reason_code)"
        ),
        func=refuse("Since when and why a user has its status is what its decision says."),
    ),
    # updatedAt moves with every change of profile or status, and with nothing else, even within one clock tick.
    PermanentTrigger(
        name="touch",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"""
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
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="event",
        when=pgtrigger.After,
        operation=pgtrigger.UpdateOf("status"),  # type: ignore[no-untyped-call]
        condition=pgtrigger.Condition("OLD.status IS DISTINCT FROM NEW.status"),
        func=f"""{_STATUS_CHANGED};
            RETURN NULL;
        """,
    ),
    *append_only(pgtrigger.Delete),
]


def by_active_staff(column: str) -> PermanentTrigger:
    """The trigger that refuses a row by a disabled account. column: the account's."""
    return PermanentTrigger(
        name="by_active_staff",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""
            IF NOT EXISTS (SELECT FROM staff_staff s WHERE s.id = NEW.{column} AND s.is_active) THEN
                {refuse("An active staff account does this.")}
            END IF;
            RETURN NEW;
        """,
    )


_DECIDED = register("user.decided", _("Decision"))

STATUS_CHANGE_TRIGGERS = [
    by_active_staff("by_id"),
    FunctionTrigger(
        name="moves_from_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_decision_from_present",
        arguments=_ALLOWED_MOVES,
    ),
    PermanentTrigger(
        name="moves_user",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func="""
            UPDATE users_user SET status = NEW.to_status WHERE id = NEW.user_id;
            RETURN NULL;
        """,
    ),
    # Simulated decisions are the sandbox partner's own.
    entry_trigger(
        f"'{_DECIDED}'",
        where="context ->> 'staff' <> 'sandbox'",
        object="NEW.user_id::text",
        detail=json_object(
            {"changes": "jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status))"}
            | {"reason": "NEW.reason", "reasonCode": "nullif(NEW.reason_code, '')"}
            | {"commonMaker": "nullif(NEW.common_maker, '')"}
        ),
        actor="(SELECT username FROM staff_staff WHERE id = NEW.by_id)",
        further=names_of_user("NEW.user_id"),
    ),
    *append_only(blanked="basis"),
    # By their names these come after `moves_from_present`: users/models/approvals.py.
    FunctionTrigger(
        name="two_people",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_decision_two_people",
    ),
    PermanentTrigger(
        name="ends_proposal",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition("NEW.proposal_id IS NOT NULL"),
        func="""
            UPDATE users_proposal SET state = 'approved', ended_by_id = NEW.by_id WHERE id = NEW.proposal_id;
            RETURN NULL;
        """,
    ),
    # A decision that lets the user through is refused while something is open.
    FunctionTrigger(
        name="nothing_open",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition(f"NEW.to_status = '{Status.ACTIVE.value}'"),
        function="users_decision_nothing_open",
    ),
    # By its name it comes after `moves_user`: the event of the status is the first.
    FunctionTrigger(
        name="requirements_end",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition(f"NEW.to_status IN ({_ENDING})"),
        function="users_decision_ends_requirements",
    ),
]

ACCESS_TRIGGERS = [
    stamped("created_at"),
    by_active_staff("staff_id"),
    # Openings and claims are in the access log alone.
    entry_trigger(
        f"'{register('user.exported', _('Exported'))}'",
        name="audit_exported",
        condition="NEW.kind = 'exported'",
        object="coalesce(NEW.user_id::text, '')",
        detail=json_object({"export": "nullif(NEW.detail, '')", "requestId": "nullif(NEW.request_id, '')"}),
        actor="(SELECT username FROM staff_staff WHERE id = NEW.staff_id)",
        further=names_of_user("NEW.user_id"),
    ),
]
