"""What people read where the database refuses: the one table of its triggers' messages and its constraints' names.

A condition stands once, in SQL; a rule writes inside of `refused_by_database`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from django.db import DatabaseError, IntegrityError, OperationalError
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from psycopg.errors import IntegrityConstraintViolation, LockNotAvailable

from core.database import errors
from core.refusals import RefusedError
from staff.models import Staff
from users.models.approvals import REASON_LENGTH, TwoPersonProposal
from users.models.file_entries import MAX_VERIFICATIONS
from users.models.requirements import MAX_REQUIREMENTS, MAX_REQUIREMENTS_EVER, MAX_RESPONSES

log = structlog.get_logger("users.refusals")


class ReasonMissingError(RefusedError):
    """What the person wants is allowed, but has no reason or note."""


OPEN_REQUIREMENT = "A user with an open requirement does not become active."

_MISSING: dict[str, Any] = {
    "status_change_reason_given": _("A reason is required."),
    "A proposal has a reason.": _("A reason is required."),
    "hold_reason_given": _("A reason is required."),
    "release_reason_given": _("A reason is required."),
    "case_note_given": _("A note is required."),
    "A proposal is declined with a note.": _("A note is required."),
}

# `detail` is what the trigger says of it; the other values are the caller's of refused_by_database.
_TEXTS: dict[str, Any] = {
    # Decisions and proposals. present, wanted: statuses. moves: those that are allowed.
    "A user does not move between these statuses: it has this one already.": _("The user is %(present)s already."),
    "A user does not move between these statuses.": _(
        "A user who is %(present)s cannot become %(wanted)s; allowed: %(moves)s."
    ),
    OPEN_REQUIREMENT: ngettext_lazy(
        "%(count)s requirement is open: wait for the partner's answer, or close it first.",
        "%(count)s requirements are open: wait for the partner's answers, or close them first.",
        "count",
    ),
    # Partners read these: the names of users/sql/users_identity_gap.sql.
    "identity_missing": _("No record says how the identity was verified: a user becomes active with one."),
    "identity_changed": _(
        "Name or birth date have changed since the identity was verified: a user becomes active with a newer record."
    ),
    "identity_expired": _(
        "The document by which the identity was verified has expired: a user becomes active with a newer record."
    ),
    "This move takes two people: one has proposed it.": _(
        "This move takes two people: propose it (propose_user_status). Open proposal: %(detail)s."
    ),
    "This move takes two people: an open proposal of this very move, on the user as it is.": _(
        "This move takes two people: propose it (propose_user_status). There is no open proposal."
    ),
    "This move takes one person by now.": _("This move takes one person by now: decline the proposal and decide."),
    "This move takes one person: there is no rule for it.": _("This move takes one person: decide it."),
    "A user has at most one open proposal.": _("%(first)s has proposed this already."),
    # Permissions of users, of the account that acts; two people: staff/sql/staff_pair.sql. first, second: their names.
    "decide_user": _("%(second)s may not decide about users."),
    "keep_records": _("%(second)s may not hold or erase records."),
    "claim_user": _("%(second)s may not claim cases."),
    "pair_is_one": _("You proposed this: another account approves it."),
    "pair_first_may_not": _(
        "%(first)s, who proposed this, may not decide any more: decline it, and another account proposes it."
    ),
    "pair_second_may_not": _("%(second)s may not decide about users."),
    "pair_is_related": _(
        "%(first)s and %(second)s may not decide together: within 30 days one made the other's account,"
        " changed its roles, or reset its password or second factor."
    ),
    # Requirements. status: the user's.
    "Nothing is asked about a user who is rejected or closed.": _("Nothing is asked about a user who is %(status)s."),
    "users_requirementclosure_pkey": _("This requirement is closed already."),
    "This entry is closed already.": _("This entry is closed already."),
    # Holds.
    "The records of sandbox users have no retention.": _(
        "The records of sandbox users have no retention: there is nothing to hold."
    ),
    "Another person releases a hold than the one who placed it.": _(
        "You placed this hold: another person releases it."
    ),
    "users_holdrelease_pkey": _("This hold has been released already."),
}
# People read these as the database says them; partners too, by the API.
_AS_THEY_ARE = (
    f"A user has at most {MAX_REQUIREMENTS} requirements that are not closed.",
    f"A user has at most {MAX_REQUIREMENTS_EVER} requirements, closed ones included.",
    "The user is closed.",
    "This requirement is closed.",
    f"A requirement has at most {MAX_RESPONSES} answers.",
    "The identity of a user who is rejected or closed is not verified.",
    f"A user has at most {MAX_VERIFICATIONS} verifications.",
)
_TEXTS |= _MISSING | {text: text for text in _AS_THEY_ARE}


def text_of(refusal: str, **values: Any) -> str:
    """What people read of a refusal. refusal: a trigger's message, or a constraint's name."""
    return str(_TEXTS[refusal] % values)


def require_permission(staff: Staff, permission: str) -> None:
    """Raises RefusedError for an account that is not active, or lacks this permission of users."""
    if not staff.has_perm(f"users.{permission}"):
        raise RefusedError(text_of(permission, second=staff.get_username()))


def require_open(proposal: TwoPersonProposal) -> None:
    """Raises RefusedError for a proposal that has ended, in whatever way."""
    if not proposal.is_open:
        raise RefusedError(_("This proposal has ended: %(state)s.") % {"state": proposal.state_label})


def stripped(text: str, most: int = REASON_LENGTH, *, is_note: bool = False) -> str:
    """A reason or a note as it is stored. Raises RefusedError for one that is too long."""
    text = text.strip()
    if len(text) > most:
        refusal = _("The note must be at most %(most)s characters.")
        if not is_note:
            refusal = _("The reason must be at most %(most)s characters.")
        raise RefusedError(refusal % {"most": most})
    return text


@contextmanager
def refused_by_database(*, first: Staff | None = None, second: Staff | None = None, **values: Any) -> Iterator[None]:
    """Raise RefusedError, with a text for people, where the database refuses; the transaction has failed then.

    first: who proposed. second: who acts. values: of the texts.
    """
    try:
        yield
    except IntegrityError as error:
        cause: Any = error.__cause__
        refusal = cause.diag.constraint_name or cause.diag.message_primary or ""
        if refusal in _TEXTS:
            kind = ReasonMissingError if refusal in _MISSING else RefusedError
            names = {name: one.get_username() for name, one in (("first", first), ("second", second)) if one}
            raise kind(text_of(refusal, detail=cause.diag.message_detail, **names, **values)) from error
        # What a rule checks by itself, and has changed meanwhile.
        if not isinstance(cause, IntegrityConstraintViolation):
            raise
        raise RefusedError(_("Something has changed meanwhile. Look again: %(why)s") % {"why": refusal}) from error


@contextmanager
def convert_lock_timeout() -> Iterator[None]:
    """Raise RefusedError in place of the database's error. Used around a transaction on one user."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise RefusedError(_("The user is being changed right now: try again.")) from None


def refusal_of(act: Callable[[], object]) -> str:
    """Why one of several acts was refused, by the rules or by whatever the database says; empty if it was not."""
    try:
        with convert_lock_timeout():
            act()
    except RefusedError as refused:
        return str(refused)
    except DatabaseError as error:
        # Its text may have values of the row.
        log.warning("decision failed", sqlstate=errors.sqlstate(error))
        return str(_("The database refused this: nothing has changed. Try again."))
    return ""
