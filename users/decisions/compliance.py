"""Decisions: moves of a user's status (contract, section 8), and what all acts of compliance on a case check.

They refuse where somebody else has claimed the case, or where it has changed since the page was shown; what else is
refused the database says (users/refusals.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from core.database import statements
from core.refusals import RefusedError
from staff.models import Staff
from users import claims
from users.decisions import decision_basis, metrics
from users.decisions.decision_basis import changes_since, flags_and_version
from users.decisions.reasons import REASONS
from users.decisions.risk_flags import approval_needs_note, risk_flag_codes
from users.models import CaseNote, Claim, Proposal, StatusChange, User
from users.models.columns import IDENTITY_PERMISSION
from users.models.statuses import TRANSITIONS, Status
from users.refusals import (
    OPEN_REQUIREMENT,
    ReasonMissingError,
    refused_by_database,
    require_permission,
    stripped,
    text_of,
)

CASE_NOTE_LENGTH = 2000
DECIDE = "decide_user"
PERMISSION = f"users.{DECIDE}"


class ReasonCodeError(RefusedError):
    """The reason's code is not one of the move's, which the text lists."""


class StaleError(RefusedError):
    """The user has changed since the page was loaded. changes: those that the person may see."""

    def __init__(self, changes: dict[str, Any]) -> None:
        super().__init__(_("The user has changed since you loaded the page. Look again, then decide."))
        self.changes = changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decides about a user, or proposes. reason_code: one of the move's; None without one.

    source: the origin that the history names, such as a request's id. expected_version: see flags_and_version, of a
    page. proposal: that the person approves, if any, with a note of their own or none.
    """

    user: User
    to_status: str
    by: Staff
    reason: str
    reason_code: str | None = None
    source: str = ""
    expected_version: str | None = None
    proposal: Proposal | None = None
    note: str = ""


def decide(decision: Decision) -> StatusChange:
    """Move a user's status, record who, when and why, and end the claim.

    Raises RefusedError, StaleError, User.DoesNotExist; nothing has changed then.
    """
    with begin(decision) as row:
        user, proposal = row["user"], decision.proposal
        moves = ", ".join(TRANSITIONS[Status(user.status)]) or _("nothing: it is final")
        with refused_by_database(
            present=user.status,
            wanted=decision.to_status,
            moves=moves,
            count=user.open_requirements,
            first=proposal.by if proposal else None,
            second=decision.by,
        ):
            change = StatusChange.objects.create(from_status=user.status, proposal=proposal, **row)
        metrics.count_decision(change)
    decision.user.refresh_from_db()
    return change


@contextmanager
def begin(decision: Decision) -> Iterator[dict[str, Any]]:
    """The transaction of a decision or a proposal, which ends the claim: the row, with the locked `user`."""
    by, code, source = decision.by, decision.reason_code, decision.source
    reason = stripped(decision.reason)
    # Of two decisions at once, the second is checked against the result of the first.
    with acting(decision.user.pk, by=by, source=source, expected_version=decision.expected_version) as user:
        codes = REASONS.get((user.status, decision.to_status), ())
        # A move that has none is refused by the database.
        if codes and code is not None and code not in codes:
            raise ReasonCodeError(_("Unknown reason code; one of: %(codes)s.") % {"codes": ", ".join(codes)})
        first = decision.proposal
        is_bare = not decision.note.strip() if first else reason in {one.text() for one in codes}
        if decision.to_status == Status.ACTIVE and is_bare:
            flags = risk_flag_codes([user])[user.pk]
            if refusal := approval_needs_note(flags, first.basis if first else None):
                # It may name a flag that not all see.
                raise ReasonMissingError(refusal if by.has_perm(IDENTITY_PERMISSION) else text_of("case_note_given"))
        # No person made a simulated decision.
        basis = None if by.username == Staff.SANDBOX else decision_basis.collect(user=user, by=by, source=source)
        Claim.objects.filter(user=user).delete()
        row = {"user": user, "to_status": decision.to_status, "by": by, "reason": reason, "reason_code": code or ""}
        yield row | {"basis": basis}


def add_note(*, user: User, text: str, by: Staff) -> CaseNote:
    """Add a note to a user's case; the status stays, and so does any claim. Raises RefusedError, User.DoesNotExist."""
    require_permission(by, DECIDE)
    text = stripped(text, CASE_NOTE_LENGTH, is_note=True)
    with transaction.atomic(), refused_by_database():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if user.case_notes.order_by("-id").values_list("staff", "text").first() == (by.pk, text):
            raise RefusedError(_("You have added this note already."))
        return CaseNote.objects.create(user=user, text=text, staff=by)


# What a page shows before anything is sent


def permitted_actions(*, user: User, claim: Claim | None, staff: Staff) -> dict[str, bool]:
    """Whether this person may claim the case, and release it. claim: the case's, if any."""
    may_claim = staff.has_perm(claims.PERMISSION)
    return {
        "claim": may_claim and claim is None and claims.needs_decision(user),
        "release": may_claim and claim is not None and claims.may_release(claim, staff),
    }


def blocking_reason(user: User, to_status: str) -> str:
    """Why the user may not be let through yet: contract, sections 13 and 15; empty if it may."""
    if to_status != Status.ACTIVE:
        return ""
    if user.open_requirements > 0:
        return text_of(OPEN_REQUIREMENT, count=user.open_requirements)
    row = statements.fetch_one("SELECT users_identity_refusal(%s)", (user.pk,))
    return text_of(row[0]) if row and row[0] else ""


# What all acts on a case check


@contextmanager
def acting(user_id: UUID, *, by: Staff, source: str = "", expected_version: str | None = None) -> Iterator[User]:
    """A transaction in which a person who may decide acts on a case that nobody else has claimed: the locked user.

    source, expected_version: see Decision. Raises RefusedError, StaleError, User.DoesNotExist.
    """
    require_permission(by, DECIDE)
    with transaction.atomic():
        user = User.objects.select_for_update(no_key=True).get(pk=user_id)
        if expected_version is not None and expected_version != flags_and_version(user)[1]:
            raise StaleError(changes_since(user, expected_version, sees_identity=by.has_perm(IDENTITY_PERMISSION)))
        # No person made a sandbox decision: no claim stops it.
        holder = None if by.username == Staff.SANDBOX else claims.holder(user)
        if holder is not None and holder != by:
            raise RefusedError(_("%(name)s has claimed this case.") % {"name": holder.get_username()})
        statements.set_context(staff=by.get_username(), source=source)
        yield user
