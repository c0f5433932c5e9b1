"""Proposals: a decision of two people, of whom one proposes and another approves or declines: docs/operations.md."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.database import statements
from core.refusals import RefusedError
from staff.models import Staff
from users.decisions.approval_rules import moves_of_two
from users.decisions.compliance import DECIDE, Decision, add_note, begin, decide
from users.models import AccessRecord, Proposal, ProposalState, StatusChange, User
from users.models.approvals import NOTE_LENGTH
from users.refusals import refused_by_database, require_open, require_permission, stripped


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
        )
        change = decide(decision, proposal=proposal)
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
