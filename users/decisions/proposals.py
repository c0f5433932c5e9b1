"""Decisions of two people: which moves take them, and proposals, which one makes and another approves or declines.

docs/operations.md, "Decisions of two people". The database's functions hold it.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.checks import Error
from django.db import transaction
from django.db.models import BooleanField, Func, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from core.database import statements
from core.refusals import RefusedError
from partners.checks import Found, installation_check
from partners.monitoring.health import named
from staff.models import Staff
from users.decisions.compliance import DECIDE, Decision, add_note, begin, decide
from users.models import AccessRecord, ApprovalRule, Condition, Proposal, ProposalState, StatusChange, User
from users.models.approvals import NOTE_LENGTH, RULED_MOVES
from users.models.statuses import Status
from users.refusals import refused_by_database, require_open, require_permission, stripped, text_of

LEAST_DECIDERS = 2
_MOVES_OF_TWO = """
    SELECT (SELECT state = 'open' FROM users_proposal WHERE user_id = u.id ORDER BY created_at DESC LIMIT 1) IS TRUE,
           ARRAY(SELECT wanted FROM unnest(%s::text[]) AS wanted WHERE users_takes_two(u.id, wanted))
      FROM users_user u WHERE u.id = %s
"""


def rules_in_force() -> QuerySet[ApprovalRule]:
    """The rules of each move that ever had any: those that were set with the newest, so one at least."""
    newest = ApprovalRule.objects.filter(from_status=OuterRef("from_status"), to_status=OuterRef("to_status"))
    set_last = newest.order_by("-id").values("created_at")[:1]
    return ApprovalRule.objects.filter(created_at=Subquery(set_last)).order_by("from_status", "to_status", "id")


def deciders() -> Sequence[Staff]:
    """The active accounts that may decide and have signed in once, by name."""
    may: Any = Func("pk", function="staff_may_decide", output_field=BooleanField())
    return list(Staff.objects.filter(may, password_is_one_time=False).order_by("username"))


def moves_of_two(user: User) -> tuple[frozenset[Status], bool]:
    """The moves of a user that take two people, and whether nobody has ended the latest proposal; one statement."""
    ends = sorted({end.value for _start, end in RULED_MOVES})
    is_proposed, moves = statements.fetch_one(_MOVES_OF_TWO, (ends, user.pk)) or (False, [])
    return frozenset(map(Status, moves)), is_proposed


def pair_of(first: Staff, second: Staff, *, permission: str = "decide_user") -> tuple[str, str]:
    """Why these two may not decide together, empty if they may; and who made, re-roled or reset both of late."""
    found = statements.fetch_one("SELECT * FROM staff_pair(%s, %s, %s)", (first.pk, second.pk, permission))
    refusal, makers = found or (None, "")
    names = {"first": first.get_username(), "second": second.get_username()}
    return text_of(refusal, **names) if refusal else "", makers


@installation_check
def check_deciders() -> Found:
    """Two who may decide where a rule needs them, else one."""
    names = [one.get_username() for one in deciders()]
    needed = LEAST_DECIDERS if any(rule.condition != Condition.NEVER for rule in rules_in_force()) else 1
    if len(names) < needed:
        text = f"Accounts that may decide and have signed in: {named(names) or 'none'}; {needed} needed."
        yield Error(text, hint="Create another with the role reviewer: `create_staff`.", id="psi.E031")


def propose(decision: Decision) -> Proposal:
    """Propose a move that takes two people; ends the claim on the case. Raises RefusedError, StaleError."""
    with begin(decision) as row:
        present = current(row["user"])
        with refused_by_database(first=present.by if present else None, second=decision.by):
            proposal = Proposal.objects.create(**row)
    made: Proposal = Proposal.objects.with_states().get(pk=proposal.pk)
    return made


def decide_or_propose(decision: Decision) -> StatusChange | Proposal:
    """Move a user's status, or propose the move where it takes two people. Raises as they do."""
    return propose(decision) if decision.to_status in moves_of_two(decision.user)[0] else decide(decision)


def approve(
    *, proposal_id: UUID, by: Staff, note: str = "", source: str = "", expected_version: str | None = None
) -> StatusChange:
    """Approve another person's proposal, whose reason the decision has. note: the second person's own, for the case.

    Raises RefusedError, StaleError, Proposal.DoesNotExist.
    """
    require_permission(by, DECIDE)
    with transaction.atomic():
        proposal = _locked(proposal_id)
        decision = Decision(
            user=proposal.user,
            to_status=proposal.to_status,
            by=by,
            reason=proposal.reason,
            reason_code=proposal.reason_code or None,
            source=source,
            expected_version=expected_version,
            proposal=proposal,
            note=note,
        )
        change = decide(decision)
        # A trigger has ended it.
        proposal.refresh_from_db(fields=["state"])
        if note.strip():
            add_note(user=proposal.user, text=note, by=by)
    return change


def decline(*, proposal_id: UUID, by: Staff, note: str, source: str = "") -> Proposal:
    """End a proposal, of one's own too, without a decision. Raises RefusedError, Proposal.DoesNotExist."""
    require_permission(by, DECIDE)
    note = stripped(note, NOTE_LENGTH, is_note=True)
    with transaction.atomic():
        proposal = _locked(proposal_id)
        statements.set_context(staff=by.get_username(), source=source)
        with refused_by_database(second=by):
            Proposal.objects.filter(pk=proposal.pk).update(state=ProposalState.DECLINED, ended_by=by, note=note)
    proposal.refresh_from_db()
    return proposal


def decline_all(*, staff: Staff, by: Staff | None, reason: str, **_signal: Any) -> dict[str, int]:
    """End the open proposals of an account that is disabled (account_disabled). by: None for an operator."""
    locked = list(Proposal.objects.open().filter(by=staff).order_by("pk").select_for_update(of=("self",)))
    for proposal in locked:
        ended = {"state": ProposalState.DECLINED, "ended_by": by, "note": reason}
        Proposal.objects.filter(pk=proposal.pk).update(**ended)
    return {"proposals": len(locked)}


def current(user: User) -> Proposal | None:
    """The latest proposal, if nobody has ended it: it may have expired, or been overtaken."""
    found: Proposal | None = user.proposals.with_states().select_related("by").order_by("-created_at").first()
    return found if found and found.state == ProposalState.OPEN else None


def waiting() -> QuerySet[Proposal]:
    """The proposals that wait for a second person, longest first."""
    return Proposal.objects.open().select_related("user__partner", "by").order_by("created_at", "id")


def approve_opened(proposal: Proposal, *, by: Staff, source: str) -> StatusChange:
    """Approve one of several, whose case the person has opened since it was made. Raises as `approve` does."""
    if AccessRecord.last_opening(proposal.user, by=by, since=proposal.created_at) is None:
        raise RefusedError(_("Open the case first: nobody approves a proposal unseen."))
    return approve(proposal_id=proposal.pk, by=by, source=source)


def _locked(proposal_id: UUID) -> Proposal:
    """The open proposal, its user locked. Raises RefusedError, Proposal.DoesNotExist."""
    user_id = Proposal.objects.values_list("user_id", flat=True).get(pk=proposal_id)
    # The user before the proposal, as a decision's triggers do.
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    found: Proposal = Proposal.objects.with_states().select_related("by").get(pk=proposal_id)
    found.user = user
    require_open(found)
    return found
