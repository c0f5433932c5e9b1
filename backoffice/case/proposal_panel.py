"""What the case page shows of a proposal, and whether its reader may approve it."""

from dataclasses import dataclass
from typing import Any

from backoffice.case.forms import DeclineForm
from users.decisions import compliance, proposals
from users.decisions.approval_rules import pair_of
from users.decisions.changes import FieldChange, differences
from users.decisions.reasons import common_maker_note, label_of, note_of
from users.models import Proposal, ProposalState, Staff, Status, User, UserEvent
from users.models.columns import IDENTITY_PERMISSION


@dataclass(frozen=True, slots=True)
class Panel:
    """A proposal. changes: of the user since. blocking_reason: why the reader may not approve it; empty if they may.

    common_maker: what the page says of those who made the accounts of both; empty where nobody did.
    """

    proposal: Proposal
    changes: tuple[FieldChange, ...]
    blocking_reason: str
    common_maker: str
    may_decide: bool
    decline: DeclineForm

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


def panel_of(user: User, reader: Staff, *, decline: DeclineForm | None = None) -> Panel | None:
    """The proposal that waits, or ended without anybody's act.

    decline: a refused form, to show again.
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
    return Panel(proposal, changes, blocking_reason, common_maker, may_decide, decline or DeclineForm())
