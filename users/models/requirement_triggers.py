"""Triggers on requirements: contract, section 13.

Each write of a requirement, a response or an end locks the user first, and brings the user's columns up to date. An
event tells the partner that compliance opened or closed requirements: one for each statement and user, so that a
decision that closes several writes one.
"""

import pgtrigger
from django.utils.translation import gettext_lazy as _

from partners.db.audit import entry_trigger, register
from partners.db.history_context import PRESENT
from partners.db.triggers import PermanentTrigger, append_only, json_object, refuse
from partners.events.outbox import insert_entry
from partners.models import EventType
from users.models.requirement_columns import QueueSection
from users.models.statuses import ENDED_STATUSES, Status

# Of a user: those that are not closed, and all; and the answers to one.
MAX_REQUIREMENTS = 10
MAX_REQUIREMENTS_EVER = 1_000
MAX_RESPONSES = 100
MAX_DUE_DAYS = 90

_ENDED = ", ".join(f"'{status.value}'" for status in ENDED_STATUSES)
# Statuses to which a decision closes all requirements.
_ENDING = f"'{Status.ACTIVE.value}', {_ENDED}"


_PROFILE_EVENT = "(SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = {user})"


def _has(rows: str, count: int) -> str:
    """SQL: whether there are so many rows; no more are read."""
    return f"(SELECT count(*) FROM (SELECT FROM {rows} LIMIT {count}) AS found) = {count}"


def _section(open_ones: str, submitted: str) -> str:
    return (
        f"CASE WHEN {open_ones} > 0 THEN {QueueSection.PARTNER:d} WHEN {submitted} > 0 THEN {QueueSection.ANSWERED:d}"
        f" ELSE {QueueSection.COMPLIANCE:d} END"
    )


def refresh(users: str) -> str:
    """The SQL that brings the columns of locked users up to date. users: a query of their ids."""
    return f"""
        UPDATE users_user u
           SET open_requirements = n.open, requirements_due_at = n.due_at, answered_at = n.answered_at,
               queue_section = n.section, partner_wait = n.partner_wait,
               section_since = CASE
                   WHEN n.section = n.old_section THEN u.section_since
                   WHEN n.section = {QueueSection.COMPLIANCE:d} THEN u.status_since + n.partner_wait
                   ELSE clock_timestamp() END
          FROM (SELECT s.*, {_section("s.open", "s.submitted")} AS section,
                       CASE WHEN s.old_section = {QueueSection.PARTNER:d} AND s.open = 0
                           THEN s.old_wait + (clock_timestamp() - s.old_since) ELSE s.old_wait END AS partner_wait
                  FROM (SELECT o.id, o.queue_section AS old_section, o.section_since AS old_since,
                               o.partner_wait AS old_wait,
                               count(*) FILTER (WHERE r.state = 'open') AS open,
                               count(*) FILTER (WHERE r.state = 'submitted') AS submitted,
                               min(r.due_at) FILTER (WHERE r.state = 'open') AS due_at,
                               greatest(o.answered_at, max(r.answered_at)) AS answered_at
                          FROM users_user o
                          LEFT JOIN LATERAL (
                               SELECT q.due_at, users_requirement_state(q.id) AS state,
                                      (SELECT a.created_at FROM users_requirementresponse a
                                        WHERE a.requirement_id = q.id ORDER BY a.id DESC LIMIT 1) AS answered_at
                                 FROM users_requirement q WHERE q.user_id = o.id AND q.closed_at IS NULL) r ON true
                         WHERE o.id IN ({users})
                         GROUP BY o.id) s) n
         WHERE u.id = n.id;
    """


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
    PermanentTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
            IF present.status IN ({_ENDED}) THEN
                {refuse("Nothing is asked about a user who is rejected or closed.")}
            END IF;
            IF (SELECT count(*) FROM users_requirement r
                 WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL) >= {MAX_REQUIREMENTS} THEN
                {refuse(f"A user has at most {MAX_REQUIREMENTS} requirements that are not closed.")}
            END IF;
            IF {_has("users_requirement r WHERE r.user_id = NEW.user_id", MAX_REQUIREMENTS_EVER)} THEN
                {refuse(f"A user has at most {MAX_REQUIREMENTS_EVER} requirements, closed ones included.")}
            END IF;
            NEW.closed_at := NULL;
            NEW.created_at := clock_timestamp();
            NEW.due_at := NEW.created_at + NEW.due_in_days * interval '24 hours';
            NEW.profile_event := {_PROFILE_EVENT.format(user="NEW.user_id")};
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func=f"""
            {refresh("SELECT NEW.user_id")}
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
    PermanentTrigger(
        name="closes_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"""
            IF OLD.closed_at IS NOT NULL OR to_jsonb(OLD) - 'closed_at' <> to_jsonb(NEW) - 'closed_at'
                OR NEW.closed_at IS DISTINCT FROM (
                    SELECT c.created_at FROM users_requirementclosure c WHERE c.requirement_id = OLD.id) THEN
                {refuse("This table refuses it: its rows are kept for good.")}
            END IF;
            RETURN NEW;
        """,
    ),
    *append_only(pgtrigger.Delete),
]

RESPONSE_TRIGGERS = [
    PermanentTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""
            SELECT u.* INTO present
              FROM users_requirement r JOIN users_user u ON u.id = r.user_id
             WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;
            IF present.status = '{Status.CLOSED.value}' OR users_requirement_state(NEW.requirement_id) = 'closed' THEN
                {refuse("This requirement is closed.")}
            END IF;
            IF {_has("users_requirementresponse a WHERE a.requirement_id = NEW.requirement_id", MAX_RESPONSES)} THEN
                {refuse(f"A requirement has at most {MAX_RESPONSES} answers.")}
            END IF;
            NEW.created_at := clock_timestamp();
            NEW.context := {PRESENT};
            NEW.profile_event := {_PROFILE_EVENT.format(user="present.id")};
            RETURN NEW;
        """,
    ),
    # No event: the partner did it.
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        func=f"""
            {refresh("SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id")}
            RETURN NULL;
        """,
    ),
]

_OF_INSERTED = "SELECT r.user_id FROM inserted i JOIN users_requirement r ON r.id = i.requirement_id"

CLOSURE_TRIGGERS = [
    PermanentTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""
            PERFORM FROM users_requirement r JOIN users_user u ON u.id = r.user_id
              WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;
            -- `requirements_end` closes all of them with the decision: none is left to be closed by it later.
            IF NEW.decision_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM users_requirement r JOIN users_statuschange d ON d.user_id = r.user_id
                 WHERE r.id = NEW.requirement_id AND d.id = NEW.decision_id AND d.by_id = NEW.by_id
                   AND d.to_status IN ({_ENDING}) AND d.created_at > r.created_at) THEN
                {refuse("A decision closes what was asked about its user before, in the name of who decided.")}
            END IF;
            NEW.created_at := clock_timestamp();
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="user_columns",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        level=pgtrigger.Statement,
        referencing=pgtrigger.Referencing(new="inserted"),  # type: ignore[no-untyped-call]
        func=f"""
            UPDATE users_requirement r SET closed_at = i.created_at FROM inserted i WHERE r.id = i.requirement_id;
            {refresh(_OF_INSERTED)}
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

# Of StatusChange. One that lets the user through is refused while something is open.
DECISION_REQUIREMENT_TRIGGERS = [
    PermanentTrigger(
        name="nothing_open",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition(f"NEW.to_status = '{Status.ACTIVE.value}'"),
        func=f"""
            IF (SELECT u.open_requirements FROM users_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE) > 0 THEN
                {refuse("A user with an open requirement does not become active.")}
            END IF;
            RETURN NEW;
        """,
    ),
    # By its name after `moves_user`: the event of the status comes first.
    PermanentTrigger(
        name="requirements_end",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        condition=pgtrigger.Condition(f"NEW.to_status IN ({_ENDING})"),
        func=f"""
            IF (SELECT u.queue_section FROM users_user u WHERE u.id = NEW.user_id) <> {QueueSection.COMPLIANCE:d} THEN
                INSERT INTO users_requirementclosure (requirement_id, by_id, decision_id)
                SELECT r.id, NEW.by_id, NEW.id FROM users_requirement r
                 WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL;
            END IF;
            RETURN NULL;
        """,
    ),
]
