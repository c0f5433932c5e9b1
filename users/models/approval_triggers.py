"""Triggers that hold decisions of two people, whatever code writes: docs/operations.md, "Decisions of two people".

Where a move takes two (users/sql/users_takes_two.sql), a row in StatusChange needs a proposal of that user and that
very move that is open (users_is_open.sql), by another account; both may decide (users_may_decide.sql), and are not
related (users_ties.sql). Its reason is the proposal's. The services call the same functions.
"""

import pgtrigger
from django.utils.translation import gettext_lazy as _

from partners.db.audit import entry_trigger, insert_entry, register
from partners.db.triggers import FunctionTrigger, PermanentTrigger, append_only, json_object

_SET = register("approvalRule.set", _("Approval rule set"))
_PROPOSED = register("user.proposed", _("Decision proposed"))
_PROPOSAL_ENDED = register("user.proposalEnded", _("Proposal ended"))

RULE_TRIGGERS = [
    entry_trigger(
        f"'{_SET}'",
        object="NEW.from_status || ' → ' || NEW.to_status",
        # One line for the conditions that one statement sets.
        where="""NEW.id = (SELECT max(id) FROM users_approvalrule rule
                            WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status
                              AND rule.created_at = NEW.created_at)""",
        detail=json_object({"changes": "users_rule_changes(NEW.from_status, NEW.to_status, NEW.created_at)"}),
    ),
]


PROPOSAL_TRIGGERS = [
    FunctionTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_proposal_of_present",
    ),
    FunctionTrigger(
        name="ends_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        function="users_proposal_ends_once",
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
        condition=pgtrigger.Condition("OLD.state <> NEW.state AND NEW.state <> 'approved'"),
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

# StatusChange has these. By their names they come after `moves_from_present`.
DECISION_TRIGGERS = [
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
]
