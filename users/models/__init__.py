"""Users, and the decisions, claims and access records of staff."""

from users.models.approvals import ApprovalRule, Condition, Proposal, ProposalState
from users.models.case import AccessKind, AccessRecord, CaseNote, Claim, OpenedPage
from users.models.file_entries import FileEntry, FileKind, IdentityRule
from users.models.requirements import (
    Requirement,
    RequirementClosure,
    RequirementCode,
    RequirementResponse,
    RequirementState,
)
from users.models.retention import Erasure, ErasureProposal, Hold, HoldRelease, ProposedErasure
from users.models.statuses import Status
from users.models.user import ANSWERED, ASKED, StatusChange, User, UserEvent
