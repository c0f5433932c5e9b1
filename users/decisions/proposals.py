"""Proposals: a decision of two people, of whom the first proposes and the second approves or declines.

The back office, its bulk actions and the commands call these. docs/operations.md, "Decisions of two people".
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.database import history_context
from core.refusals import RefusedError
from staff.models import Staff
from users.decisions.approval_rules import needs_two
from users.decisions.compliance import Decision, add_note, begin, check_note, decide, require_permission
from users.models import AccessRecord, Proposal, ProposalState, StatusChange, User
from users.refusals import refused_by_database


def propose(decision: Decision) -> Proposal:
    """Propose a move that takes two people; ends the claim on the case.

    Raises RefusedError, also where no rule applies, and StaleError; nothing has changed then.
    """
    with transaction.atomic():
        row = begin(decision)
        present = current(row["user"])
        if present is not None and not present.is_open:
            Proposal.objects.filter(pk=present.pk).update(state=present.present_state)
        with refused_by_database(first=present.by.get_username() if present else ""):
            proposal = Proposal.objects.create(**row)
    return Proposal.objects.with_ends().get(pk=proposal.pk)


def decide_or_propose(decision: Decision) -> StatusChange | Proposal:
    """Move a user's status, or propose the move where it takes two people. Raises as they do."""
    return propose(decision) if needs_two(decision.user, decision.to_status) else decide(decision)


def approve(
    *, proposal_id: UUID, by: Staff, note: str = "", source: str = "", expected_version: str | None = None
) -> StatusChange:
    """Approve another person's proposal: the status moves, with the proposal's reason.

    note: the second person's own, for the case (compliance.add_note). source, expected_version: see Decision.
    Raises RefusedError, StaleError, Proposal.DoesNotExist; nothing has changed then.
    """
    require_permission(by)
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
    """End a proposal without a decision. by: anybody who may decide, the proposer included. note: 1 to 500 characters.

    Raises RefusedError, Proposal.DoesNotExist; nothing has changed then.
    """
    require_permission(by)
    note = note.strip()
    check_note(note)
    with transaction.atomic():
        proposal = _locked(proposal_id)
        history_context.set_context(staff=by.get_username(), source=source)
        with refused_by_database():
            Proposal.objects.filter(pk=proposal.pk).update(state=ProposalState.DECLINED, ended_by=by, note=note)
    proposal.refresh_from_db()
    return proposal


def decline_all(*, staff: Staff, by: Staff | None, reason: str, **_signal: Any) -> dict[str, int]:
    """End the open proposals of an account that is disabled; returns how many were declined. by: None for an operator.

    Receives account_disabled.
    """
    declined = 0
    stored = Proposal.objects.filter(by=staff, state=ProposalState.OPEN).with_ends().order_by("pk")
    for proposal in stored.select_for_update(of=("self",)):
        ended: dict[str, Any] = {"state": proposal.present_state}
        if proposal.is_open:
            ended = {"state": ProposalState.DECLINED, "ended_by": by, "note": reason}
            declined += 1
        Proposal.objects.filter(pk=proposal.pk).update(**ended)
    return {"proposals": declined}


def current(user: User) -> Proposal | None:
    """The proposal that is stored as open, if any: it may have expired, or been overtaken."""
    found: Proposal | None = user.proposals.filter(state=ProposalState.OPEN).with_ends().select_related("by").first()
    return found


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
    found: Proposal = Proposal.objects.with_ends().select_related("by").get(pk=proposal_id)
    found.user = user
    if found.present_state == ProposalState.OVERTAKEN:
        raise RefusedError(_("The user has changed since this was proposed: the proposal has ended."))
    if not found.is_open:
        raise RefusedError(_("This proposal has ended: %(state)s.") % {"state": found.present_state.label})
    return found
