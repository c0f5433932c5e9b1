"""Triggers on requirements: contract, section 13.

Each write of a requirement, a response or an end locks the user first, and brings the user's columns up to date. An
event tells the partner that compliance opened or closed requirements: one for each statement and user, so that a
decision that closes several writes one.
"""

import pgtrigger
from django.utils.translation import gettext_lazy as _

from partners.db.audit import entry_trigger, register
from partners.db.triggers import FunctionTrigger, PermanentTrigger, append_only, json_object
from partners.events.outbox import insert_entry
from partners.models import EventType
from users.models.statuses import ENDED_STATUSES, Status

# A user has at most so many that are not closed, and so many in all; one of them has at most so many answers.
MAX_REQUIREMENTS = 10
MAX_REQUIREMENTS_EVER = 1_000
MAX_RESPONSES = 100
MAX_DUE_DAYS = 90

_ENDED = ", ".join(f"'{status.value}'" for status in ENDED_STATUSES)
# Statuses to which a decision closes all requirements.
_ENDING = f"'{Status.ACTIVE.value}', {_ENDED}"


def _event(source: str, opened: str) -> str:
    """The SQL that writes an event for each user. source: of users as u. opened: SQL of the requirement's id."""
    entry = insert_entry(
        EventType.REQUIREMENTS_CHANGED,
        source=source,
        partner="u.partner_id",
        user="u.id",
        data={
            "externalId": "u.external_id",
            "userId": "u.id",
            "openRequirements": "u.open_requirements",
            "openedRequirementId": opened,
        },
    )
    return f"{entry};"


_OPENED = register("requirement.opened", _("Requirement opened"))
_CLOSED = register("requirement.closed", _("Requirement closed"))
_BY = "(SELECT username FROM users_staff WHERE id = NEW.by_id)"
# Those of the sandbox are the partner's own.
_NOT_SIMULATED = "context ->> 'staff' <> 'sandbox'"

REQUIREMENT_TRIGGERS = [
    FunctionTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_requirement_of_present",
        arguments=(MAX_REQUIREMENTS, MAX_REQUIREMENTS_EVER),
    ),
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func=f"""
            PERFORM users_refresh_requirements(ARRAY[NEW.user_id]);
            {_event("users_user u WHERE u.id = NEW.user_id", "NEW.id")}
            RETURN NULL;
        """,
    ),
    entry_trigger(
        f"'{_OPENED}'",
        where=_NOT_SIMULATED,
        object="NEW.user_id::text",
        detail=json_object(
            {"requirement": "NEW.id", "code": "NEW.code", "fields": "array_to_string(NEW.fields, ', ')"}
            | {"message": "nullif(NEW.message, '')", "dueInDays": "NEW.due_in_days"}
        ),
        actor=_BY,
        user="NEW.user_id",
    ),
    FunctionTrigger(
        name="closes_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        function="users_requirement_closes_once",
    ),
    *append_only(pgtrigger.Delete),
]

RESPONSE_TRIGGERS = [
    FunctionTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_response_of_present",
        arguments=(MAX_RESPONSES,),
    ),
    # No event: the partner did it.
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func="""
            PERFORM users_refresh_requirements(
                ARRAY(SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id));
            RETURN NULL;
        """,
    ),
]

_OF_INSERTED = "SELECT r.user_id FROM inserted i JOIN users_requirement r ON r.id = i.requirement_id"

CLOSURE_TRIGGERS = [
    FunctionTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_closure_of_present",
    ),
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        level=pgtrigger.Statement,
        referencing=pgtrigger.Referencing(new="inserted"),  # type: ignore[no-untyped-call]
        func=f"""
            UPDATE users_requirement r SET closed_at = i.created_at FROM inserted i WHERE r.id = i.requirement_id;
            PERFORM users_refresh_requirements(ARRAY({_OF_INSERTED}));
            {_event(f"users_user u WHERE u.id IN ({_OF_INSERTED})", "NULL::uuid")}
            RETURN NULL;
        """,
    ),
    # A decision that closes some has a line of its own.
    entry_trigger(
        f"'{_CLOSED}'",
        condition="NEW.decision_id IS NULL",
        where=_NOT_SIMULATED,
        object="(SELECT r.user_id::text FROM users_requirement r WHERE r.id = NEW.requirement_id)",
        detail=json_object({"requirement": "NEW.requirement_id", "note": "nullif(NEW.note, '')"}),
        actor=_BY,
        user="(SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id)",
    ),
]

# StatusChange has these. A decision that lets the user through is refused while something is open.
DECISION_REQUIREMENT_TRIGGERS = [
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
