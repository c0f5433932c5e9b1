"""Erasures of two people: the first proposes them, the second approves or declines, and the owner carries them out.

The back office and the commands call these; the database holds the rules (users/models/erasures.py).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.translation import gettext as _

from core.database import history_context, statements
from core.database.query import Query
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from users.decisions.approval_rules import pair_of
from users.decisions.compliance import check_length
from users.models import Erasure, ErasureProposal, ErasureState
from users.models.erasure_proposals import ERASURE_REASON_LENGTH
from users.profile.labels import display_moment
from users.refusals import refused_by_database
from users.retention.clock import due_users, of_approved_erasures
from users.retention.holds import require_keeper

# Two proposals at the same time do not name the same users. The first number says whose lock it is: 3 is this one's.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(3, 0)"
_NAME_USERS = """
    INSERT INTO users_proposederasure (proposal_id, user_id) SELECT %s, unnest(%s::uuid[])
"""


def propose(
    *,
    by: Staff,
    reason: str,
    count: int | None = None,
    partner: Partner | None = None,
    user_ids: Collection[UUID] | None = None,
    source: str = "",
) -> ErasureProposal:
    """Propose that users who are due, not held and in no other erasure are erased: those chosen, or else all.

    reason: 1 to 500 characters. count: how many the caller expects, if it does. partner: of all, those of this one.
    user_ids: those chosen. source: the origin that the history names.
    Raises RefusedError; nothing has changed then.
    """
    require_keeper(by)
    reason = _checked(reason)
    with transaction.atomic(), refused_by_database():
        statements.fetch(Query(_ONE_AT_A_TIME, ()))
        due = due_users(partner=partner.slug if partner else None)
        found = [one.user_id for one in due if not (one.held or one.in_erasure)]
        if user_ids is not None:
            if set(user_ids) - set(found):
                raise RefusedError(_("Some of these are not due any more, are held, or are in another erasure."))
            found = [one for one in found if one in set(user_ids)]
        if count is not None and count != len(found):
            raise RefusedError(
                _("Not %(expected)s but %(found)s can be proposed now: nothing was proposed.")
                % {"expected": count, "found": len(found)}
            )
        if not found:
            raise RefusedError(_("There is nobody to erase: nothing was proposed."))
        history_context.set_context(staff=by.get_username(), source=source)
        proposal = ErasureProposal.objects.create(by=by, reason=reason, partner=partner, users=len(found))
        statements.fetch(Query(_NAME_USERS, (proposal.pk, found)))
    return ErasureProposal.objects.with_states().get(pk=proposal.pk)


def approve(*, proposal_id: UUID, by: Staff, source: str = "") -> ErasureProposal:
    """Approve another person's proposal: the users may be erased within 30 days.

    Raises RefusedError, ErasureProposal.DoesNotExist; nothing has changed then.
    """
    require_keeper(by)
    with transaction.atomic(), refused_by_database():
        proposal = _locked(proposal_id)
        if refusal := blocking_reason(proposal, by):
            raise RefusedError(refusal)
        return _end(proposal, state=ErasureState.APPROVED, by=by, source=source)


def decline(*, proposal_id: UUID, by: Staff, reason: str, source: str = "") -> ErasureProposal:
    """End a proposal: nobody is erased by it. by: anybody who may approve one, the proposer included.

    Raises RefusedError, ErasureProposal.DoesNotExist; nothing has changed then.
    """
    require_keeper(by)
    reason = _checked(reason)
    with transaction.atomic(), refused_by_database():
        return _end(_locked(proposal_id), state=ErasureState.DECLINED, by=by, source=source, note=reason)


def blocking_reason(proposal: ErasureProposal, by: Staff) -> str:
    """Why this person may not be the second; empty where they may."""
    return pair_of(proposal.by, by, permission="keep_records")[0]


class Approved(NamedTuple):
    """The users of approved erasures, which have not been erased. held: those under a hold. due: those to be erased."""

    approved: int
    held: int
    due: Sequence[UUID]


def approved(*, using: str = DEFAULT_DB_ALIAS) -> Approved:
    """Whom an approved erasure names, while it may be carried out."""
    rows = of_approved_erasures(using=using)
    return Approved(
        approved=len(rows),
        held=sum(row.held for row in rows),
        due=[row.user_id for row in rows if row.is_due and not row.held],
    )


def erased_text(erased: Erasure) -> str:
    """When a user was erased, and why, in a sentence for people."""
    return _("Erased on %(when)s under the retention rules.") % {"when": display_moment(erased.erased_at)}


def _end(proposal: ErasureProposal, *, by: Staff, source: str, **ended: str) -> ErasureProposal:
    history_context.set_context(staff=by.get_username(), source=source)
    ErasureProposal.objects.filter(pk=proposal.pk).update(ended_by=by, **ended)
    return ErasureProposal.objects.with_states().get(pk=proposal.pk)


def _locked(proposal_id: UUID) -> ErasureProposal:
    """The open proposal. Raises RefusedError, ErasureProposal.DoesNotExist."""
    locked = ErasureProposal.objects.select_for_update(of=("self",), no_key=True)
    locked.only("pk").get(pk=proposal_id)
    found: ErasureProposal = ErasureProposal.objects.with_states().select_related("by").get(pk=proposal_id)
    if found.present_state != ErasureState.OPEN:
        state = ErasureState(found.present_state).label
        raise RefusedError(_("This proposal has ended: %(state)s.") % {"state": state})
    return found


def _checked(reason: str) -> str:
    reason = reason.strip()
    check_length(reason, ERASURE_REASON_LENGTH)
    return reason
