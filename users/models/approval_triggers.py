"""Triggers that hold decisions of two people, whatever code writes: docs/operations.md, "Decisions of two people".

Where a move takes two (users/sql/users_takes_two.sql), a row in StatusChange needs a proposal of that user and that
very move that is open (users_is_open.sql), by another account; both may decide (users_may_decide.sql), and are not
related (users_ties.sql). Its reason is the proposal's. The services call the same
functions.
"""

import pgtrigger
from django.utils.translation import gettext_lazy as _

from partners.db.audit import entry_trigger, insert_entry, register
from partners.db.triggers import PermanentTrigger, append_only, json_object, refuse

_SET = register("approvalRule.set", _("Approval rule set"))
_PROPOSED = register("user.proposed", _("Decision proposed"))
_PROPOSAL_ENDED = register("user.proposalEnded", _("Proposal ended"))

_OF_MOVE = "rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status"
RULE_TRIGGERS = [
    entry_trigger(
        f"'{_SET}'",
        object="NEW.from_status || ' → ' || NEW.to_status",
        # One line for the conditions that one statement sets.
        where=f"""NEW.id = (SELECT max(id) FROM users_approvalrule rule
                            WHERE {_OF_MOVE} AND rule.created_at = NEW.created_at)""",
        detail=json_object(
            {
                "changes": f"""jsonb_build_object('condition', jsonb_build_array((
                    SELECT string_agg(rule.condition, ', ' ORDER BY rule.id) FROM users_approvalrule rule
                     WHERE {_OF_MOVE} AND rule.created_at = (
                        SELECT rule.created_at FROM users_approvalrule rule
                         WHERE {_OF_MOVE} AND rule.created_at <> NEW.created_at ORDER BY rule.id DESC LIMIT 1)), (
                    SELECT string_agg(rule.condition, ', ' ORDER BY rule.id) FROM users_approvalrule rule
                     WHERE {_OF_MOVE} AND rule.created_at = NEW.created_at)))"""
            }
        ),
    ),
]

_FIXED = (
    "id, user_id, from_status, to_status, user_updated_at, by_id, reason, reason_code, created_at, data, was_shown,"
    " open_seconds"
)


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
            IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
                {refuse("This move takes one person: there is no rule for it.")}
            END IF;
            IF NOT users_may_decide(NEW.by_id) THEN
                {refuse("An active account that may decide proposes.")}
            END IF;
            NEW.open_seconds :=
                extract(epoch FROM NEW.created_at - users_opened_at(NEW.user_id, NEW.by_id, present.status_since));
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
                IF users_proposal_expiry(OLD.created_at) > clock_timestamp() + interval '1 minute'
                    OR NEW.ended_by_id IS NOT NULL THEN
                    {refuse("This proposal has not expired.")}
                END IF;
                NEW.ended_at := users_proposal_expiry(OLD.created_at);
            ELSIF NEW.state = 'overtaken' THEN
                IF present.updated_at = OLD.user_updated_at OR NEW.ended_by_id IS NOT NULL THEN
                    {refuse("The user has not changed since this proposal.")}
                END IF;
                NEW.ended_at := (
                    SELECT min(event.updated_at) FROM users_userevent event
                     WHERE event.pgh_obj_id = NEW.user_id AND event.updated_at > OLD.user_updated_at);
            ELSIF NEW.note !~ '\\S' OR NOT users_may_decide(NEW.ended_by_id)
                -- Who disables the account of the proposer may be an administrator, or an operator.
                AND (SELECT is_active FROM users_staff WHERE id = NEW.by_id) THEN
                {refuse("Somebody who may decide declines a proposal, with a note.")}
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
        declare=[("present", "users_user%ROWTYPE"), ("proposal", "users_proposal%ROWTYPE"), ("ties", "record")],
        func=f"""
            NEW.common_maker := '';
            SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
            IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
                IF NEW.proposal_id IS NOT NULL THEN
                    {refuse("This move takes one person: there is no rule for it.")}
                END IF;
                RETURN NEW;
            END IF;
            SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;
            IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status
                OR proposal.to_status <> NEW.to_status OR NOT users_is_open(
                    proposal.state, proposal.created_at, proposal.user_updated_at, present.updated_at) THEN
                {refuse("This move takes two people: an open proposal of this very move, on the user as it is.")}
            END IF;
            IF proposal.by_id = NEW.by_id
                OR NOT (users_may_decide(NEW.by_id) AND users_may_decide(proposal.by_id)) THEN
                {refuse("This move takes two people, each with an active account that may decide.")}
            END IF;
            SELECT * INTO ties FROM users_ties(NEW.by_id, proposal.by_id);
            IF ties.related THEN
                {refuse("This move takes two people: within 30 days neither made, re-roled or reset the other.")}
            END IF;
            IF (NEW.reason, NEW.reason_code) IS DISTINCT FROM (proposal.reason, proposal.reason_code) THEN
                {refuse("This move takes two people, and has the reason of the proposal.")}
            END IF;
            NEW.common_maker := ties.makers;
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
