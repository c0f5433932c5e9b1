"""Users, and the decisions, claims and access records of staff."""

from users.models.approvals import ApprovalRule, Condition, Proposal, ProposalState
from users.models.case import (
    AccessKind,
    AccessRecord,
    CaseNote,
    Claim,
    Page,
)
from users.models.erasure_proposals import ErasureProposal, ErasureState, ProposedErasure
from users.models.erasures import Erasure
from users.models.holds import Hold, HoldRelease
from users.models.requirements import (
    Requirement,
    RequirementClosure,
    RequirementCode,
    RequirementResponse,
    RequirementState,
)
from users.models.statuses import Status
from users.models.user import ANSWERED, ASKED, StatusChange, User, UserEvent

__all__ = (
    "ANSWERED",
    "ASKED",
    "AccessKind",
    "AccessRecord",
    "ApprovalRule",
    "CaseNote",
    "Claim",
    "Condition",
    "Erasure",
    "ErasureProposal",
    "ErasureState",
    "Hold",
    "HoldRelease",
    "Page",
    "Proposal",
    "ProposalState",
    "ProposedErasure",
    "Requirement",
    "RequirementClosure",
    "RequirementCode",
    "RequirementResponse",
    "RequirementState",
    "Status",
    "StatusChange",
    "User",
    "UserEvent",
)
