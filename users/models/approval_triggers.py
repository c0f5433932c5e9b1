"""Triggers that hold decisions of two people, whatever code writes: docs/operations.md, "Decisions of two people".

The newest rule of a move says for which users it takes two. Then a row in StatusChange needs an open proposal of that
user and that very move, by another account to which the second is not related, less than 72 hours old, on the user's
present version.
"""

import pgtrigger
from django.utils.translation import gettext_lazy as _

from partners.db.audit import entry_trigger, insert_entry, register
from partners.db.triggers import PermanentTrigger, append_only, json_object, refuse

PROPOSAL_HOURS = 72
RELATED_DAYS = 30

_CANADA = "CA"

# What one account may have done to another that keeps the two from deciding together: made it, given or taken a role,
# or made a password or second factor its own.
RELATING_ACTIONS = (
    "staff.created",
    "staff.invited",
    "staff.passwordChanged",
    "staff.factorReset",
    "staffRole.created",
    "staffRole.changed",
    "staffRole.removed",
)
_RELATING = ", ".join(f"'{action}'" for action in RELATING_ACTIONS)


def takes_two(user: str, from_status: str, to_status: str) -> str:
    """SQL: whether this move of a user takes two people. user: the alias of a row of users_user."""
    return f"""
        (NOT {user}.is_sandbox AND coalesce((
            SELECT CASE rule.condition
                       WHEN 'always' THEN true
                       WHEN 'ciroAffiliate' THEN {user}.is_ciro_affiliate
                       WHEN 'countryNotCanada' THEN {user}.country <> '{_CANADA}'
                       ELSE false END
              FROM users_approvalrule rule WHERE rule.from_status = {from_status} AND rule.to_status = {to_status}
             ORDER BY rule.id DESC LIMIT 1), false))
    """


def related(first: str, second: str) -> str:
    """SQL: whether one of two accounts made the other, gave it a role or reset it lately. Arguments: SQL of ids."""
    return f"""
        EXISTS (
            SELECT FROM users_staff one, users_staff other, partners_auditentry act
             WHERE one.id = {first} AND other.id = {second} AND act.action IN ({_RELATING})
               AND act.at > now() - interval '{RELATED_DAYS} days' AND act.actor_kind = 'staff'
               AND (act.object = one.username AND act.actor = other.username
                    OR act.object = other.username AND act.actor = one.username)
        )
    """


_SET = register("approvalRule.set", _("Approval rule set"))
_PROPOSED = register("user.proposed", _("Decision proposed"))
_PROPOSAL_ENDED = register("user.proposalEnded", _("Proposal ended"))

RULE_TRIGGERS = [
    entry_trigger(
        f"'{_SET}'",
        object="NEW.from_status || ' → ' || NEW.to_status",
        detail=json_object(
            {
                "changes": """jsonb_build_object('condition', jsonb_build_array((
                    SELECT earlier.condition FROM users_approvalrule earlier
                     WHERE earlier.from_status = NEW.from_status AND earlier.to_status = NEW.to_status
                       AND earlier.id < NEW.id ORDER BY earlier.id DESC LIMIT 1), NEW.condition))"""
            }
        ),
    ),
]

_FIXED = "id, user_id, from_status, to_status, user_updated_at, by_id, reason, reason_code, created_at"


def _row(alias: str) -> str:
    return "ROW(" + ", ".join(f"{alias}.{column}" for column in _FIXED.split(", ")) + ")"


PROPOSAL_TRIGGERS = [
    PermanentTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
            NEW.from_status := present.status;
            NEW.user_updated_at := present.updated_at;
            NEW.created_at := clock_timestamp();
            IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL OR NEW.note <> '' THEN
                {refuse("A proposal begins open.")}
            END IF;
            IF NOT {takes_two("present", "NEW.from_status", "NEW.to_status")} THEN
                {refuse("This move takes one person: there is no rule for it.")}
            END IF;
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="ends_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        declare=[("present", "users_user%ROWTYPE")],
        func=f"""
            IF OLD.state <> 'open' OR NEW.state = 'open' OR {_row("OLD")} IS DISTINCT FROM {_row("NEW")} THEN
                {refuse("A proposal ends once, and nothing else of it changes.")}
            END IF;
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
            NEW.ended_at := clock_timestamp();
            IF NEW.state = 'approved' THEN
                IF NOT EXISTS (
                    SELECT FROM users_statuschange d WHERE d.proposal_id = NEW.id AND d.by_id = NEW.ended_by_id) THEN
                    {refuse("A proposal is approved by a decision that names it.")}
                END IF;
            ELSIF NEW.state = 'expired' THEN
                -- A minute is for the clocks of other machines.
                IF OLD.created_at > clock_timestamp() - interval '{PROPOSAL_HOURS} hours' + interval '1 minute'
                    OR NEW.ended_by_id IS NOT NULL THEN
                    {refuse("This proposal has not expired.")}
                END IF;
                NEW.ended_at := OLD.created_at + interval '{PROPOSAL_HOURS} hours';
            ELSIF NEW.state = 'overtaken' THEN
                IF present.updated_at = OLD.user_updated_at OR NEW.ended_by_id IS NOT NULL THEN
                    {refuse("The user has not changed since this proposal.")}
                END IF;
                NEW.ended_at := (
                    SELECT min(event.updated_at) FROM users_userevent event
                     WHERE event.pgh_obj_id = NEW.user_id AND event.updated_at > OLD.user_updated_at);
            ELSIF NEW.ended_by_id IS NULL OR NEW.note !~ '\\S' THEN
                {refuse("Somebody declines a proposal, with a note.")}
            END IF;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_PROPOSED}'",
        object="NEW.user_id::text",
        detail=json_object(
            {"changes": "jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status))"}
            | {"reason": "NEW.reason", "reasonCode": "nullif(NEW.reason_code, '')", "proposal": "NEW.id"}
        ),
        user="NEW.user_id",
        actor="(SELECT username FROM users_staff WHERE id = NEW.by_id)",
    ),
    PermanentTrigger(
        name="audit_end",
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        # The decision has a line of its own.
        condition=pgtrigger.Condition("NEW.state <> 'approved'"),
        func=insert_entry(
            f"'{_PROPOSAL_ENDED}'",
            object="NEW.user_id::text",
            detail=json_object({"state": "NEW.state", "note": "nullif(NEW.note, '')", "proposal": "NEW.id"}),
            actor="(SELECT username FROM users_staff WHERE id = NEW.ended_by_id)",
            user="NEW.user_id",
        )
        + "; RETURN NULL;",
    ),
    *append_only(pgtrigger.Delete),
]

# Of StatusChange; after `moves_from_present`, in the order of their names.
DECISION_TRIGGERS = [
    PermanentTrigger(
        name="two_people",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("present", "users_user%ROWTYPE"), ("proposal", "users_proposal%ROWTYPE")],
        func=f"""
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
            IF NOT {takes_two("present", "NEW.from_status", "NEW.to_status")} THEN
                IF NEW.proposal_id IS NOT NULL THEN
                    {refuse("This move takes one person: there is no rule for it.")}
                END IF;
                RETURN NEW;
            END IF;
            SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;
            IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status
                OR proposal.to_status <> NEW.to_status OR proposal.state <> 'open'
                OR proposal.created_at <= clock_timestamp() - interval '{PROPOSAL_HOURS} hours'
                OR proposal.user_updated_at <> present.updated_at THEN
                {refuse("This move takes two people: an open proposal of this very move, on the user as it is.")}
            END IF;
            IF proposal.by_id = NEW.by_id
                OR (SELECT count(*) FROM users_staff WHERE id IN (NEW.by_id, proposal.by_id) AND is_active) < 2 THEN
                {refuse("This move takes two people, each with an active account.")}
            END IF;
            IF {related("NEW.by_id", "proposal.by_id")} THEN
                {refuse("One of the two accounts made, changed the roles of, or reset the other within 30 days.")}
            END IF;
            RETURN NEW;
        """,
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
]
