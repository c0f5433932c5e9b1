"""Users, and the decisions, claims and access records of staff."""

from users.models.approvals import ApprovalRule, Condition, Proposal, ProposalState
from users.models.case import (
    AccessKind,
    AccessRecord,
    AnsweredUser,
    AskedUser,
    CaseNote,
    ChangedUser,
    Claim,
    Page,
    QueuedUser,
)
from users.models.erasing import Erasure, ErasureProposal, ErasureState, ProposedErasure
from users.models.requirements import (
    Requirement,
    RequirementClosure,
    RequirementCode,
    RequirementResponse,
    RequirementState,
)
from users.models.retention import Hold, HoldRelease
from users.models.statuses import Status
from users.models.user import ANSWERED, ASKED, StatusChange, User, UserEvent

__all__ = (
    "ANSWERED",
    "ASKED",
    "AccessKind",
    "AccessRecord",
    "AnsweredUser",
    "ApprovalRule",
    "AskedUser",
    "CaseNote",
    "ChangedUser",
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
    "QueuedUser",
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
