"""What the case page shows of a proposal, and whether its reader may approve it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backoffice.case.forms import ApproveForm, DeclineForm
from staff.models import Staff
from users.decisions import compliance, proposals
from users.decisions.approval_rules import pair_of
from users.decisions.changes import FieldChange, differences
from users.decisions.decision_basis import Snapshot, flag_in_words
from users.decisions.reasons import common_maker_note, label_of, note_of
from users.models import Proposal, ProposalState, Status, User, UserEvent
from users.models.columns import IDENTITY_PERMISSION


@dataclass(frozen=True, slots=True)
class Since:
    """What is new about an open proposal's user, whose profile and status are as they were.

    flags: of the reader's risk flags, those that the proposal was not based on. gone: those that it was based on.
    answered_at: when the partner answered. notes: how many notes are on the case.
    """

    flags: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    answered_at: datetime | None = None
    notes: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """A proposal. changes: of the user's profile since. since: what else is new.

    is_approving: whether the dialog is open. blocking_reason: why the reader may not approve it; empty if they may.
    common_maker: what the page says of those who made the accounts of both; empty where nobody did.
    """

    proposal: Proposal
    changes: tuple[FieldChange, ...]
    blocking_reason: str
    common_maker: str
    may_decide: bool
    approve: ApproveForm
    decline: DeclineForm
    since: Since
    is_approving: bool

    @property
    def move(self) -> str:
        """The two statuses."""
        return f"{Status(self.proposal.from_status).label} → {Status(self.proposal.to_status).label}"

    @property
    def reason_label(self) -> str:
        """The reason's code in words; empty without one."""
        return label_of(self.proposal.reason_code)

    @property
    def note(self) -> str:
        """What the person wrote; empty where the reason is the code's text alone."""
        return note_of(self.proposal)


def panel_of(user: User, reader: Staff, snapshot: Snapshot, sent: Mapping[str, Any], *, is_open: bool) -> Panel | None:
    """The proposal that waits, or ended without anybody's act.

    sent: may have a refused form to show again, `approve` in an open dialog if is_open, or `decline`.
    """
    proposal = proposals.current(user)
    if proposal is None:
        return None
    may_decide = reader.has_perm(compliance.PERMISSION)
    changes: tuple[FieldChange, ...] = ()
    if proposal.present_state == ProposalState.OVERTAKEN:
        then: Any = UserEvent.objects.filter(pgh_obj=user, updated_at=proposal.user_updated_at).first()
        if then is not None:
            changes = tuple(differences(then, user, sees_identity=reader.has_perm(IDENTITY_PERMISSION)))
    blocking_reason = common_maker = ""
    if may_decide and proposal.is_open:
        pair = pair_of(proposal.by, reader)
        blocking_reason = pair.blocking_reason or compliance.blocking_reason(user, proposal.to_status)
        common_maker = common_maker_note(pair.common_maker)
    return Panel(
        *(proposal, changes, blocking_reason, common_maker, may_decide),
        sent.get("approve") or ApproveForm(),
        sent.get("decline") or DeclineForm(),
        _since(proposal, snapshot) if may_decide and proposal.is_open else Since(),
        is_approving="approve" in sent and is_open,
    )


def _since(proposal: Proposal, snapshot: Snapshot) -> Since:
    user, then = snapshot.user, (proposal.basis or {}).get("riskFlags", [])
    before = {flag["code"]: flag_in_words(flag)[0] for flag in then}
    now = {flag.code: flag.title for flag in snapshot.risk_flags}
    is_answered = user.answered_at is not None and user.answered_at > proposal.created_at
    return Since(
        tuple(title for code, title in now.items() if code not in before),
        tuple(title for code, title in before.items() if code not in now),
        user.answered_at if is_answered else None,
        user.case_notes.filter(created_at__gt=proposal.created_at).count(),
    )
