"""Approving several cases at once: each by the same checks as a single one, in a transaction of its own.

One more rule holds here alone: a case with hints is not approved before somebody who may decide has seen them all.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import OperationalError
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable

from users.models import AccessKind, AccessRecord, Staff, Status, User
from users.services import access_log, compliance
from users.services.changes import Meanwhile, Version
from users.services.decisions import StaleError, decide
from users.services.risk_flags import count_risk_flags, same_email, same_person

AT_MOST = 100
# What permissions are looked up by; the login's backend extends it.
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class TooManyError(Exception):
    """More than AT_MOST were chosen; nothing was done."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that was chosen, in the version that the page showed."""

    user_id: UUID
    shown: Version | None

    @classmethod
    def parse(cls, text: str) -> "Choice | None":
        """What `str` gave; None where it does not begin with a userId."""
        pk, _separator, version = text.partition("/")
        try:
            return cls(UUID(pk), Version.parse(version))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.user_id}/{self.shown}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a choice. refusal: why nothing was done; empty where the user was approved."""

    choice: Choice
    refusal: str
    user: User | None = None


def approve_all(*, choices: Sequence[Choice], reason: str, reason_code: str, by: Staff, source: str) -> list[Result]:
    """Approve each of these users whom the rules allow; the results in the order of choices. Raises TooManyError."""
    if len(choices) > AT_MOST:
        raise TooManyError(
            _("At most %(most)s at a time: %(chosen)s are chosen.") % {"most": AT_MOST, "chosen": len(choices)}
        )
    unread = users_with_unseen_flags([choice.user_id for choice in choices])
    refusals = [
        (
            choice,
            _("It has hints, and nobody who may decide has opened it as it is now: open it first.")
            if choice.user_id in unread
            else _approve(choice, reason=reason, reason_code=reason_code, by=by, source=source),
        )
        for choice in choices
    ]
    return list(_with_users(refusals))


def users_with_unseen_flags(user_ids: Collection[UUID]) -> set[UUID]:
    """Which of these users wait with hints that nobody who may decide has seen.

    An opening counts where the page shows hints, where the person may decide, and where since then neither the user
    nor another user who shares the e-mail address, or is the same person, was created or changed.
    All hints count, whatever the approver may see. In two statements.
    """
    waiting = User.objects.filter(pk__in=user_ids, status=Status.PENDING_COMPLIANCE).annotate(
        opened_at=_last_opening(),
        same_email_at=_last_change(same_email(OuterRef("email"), OuterRef("pk"))),
        same_person_at=_last_change(
            same_person(OuterRef("last_name"), OuterRef("first_name"), OuterRef("date_of_birth"), OuterRef("pk"))
        ),
    )
    unopened = [user for user in waiting if not _was_opened(user)]
    return {pk for pk, hints in count_risk_flags(unopened).items() if hints}


def _was_opened(user: Any) -> bool:
    """Whether the opening is not older than anything that may have given the user a hint."""
    moments = (user.status_since, user.profile_changed_at, user.same_email_at, user.same_person_at)
    return user.opened_at is not None and all(moment is None or moment <= user.opened_at for moment in moments)


def _last_opening() -> Subquery:
    # Every role that may decide sees identity, and so all hints: users/services/roles.py.
    deciders = Staff.objects.with_perm(compliance.PERMISSION, backend=_BACKEND)
    openings = AccessRecord.objects.filter(
        user=OuterRef("pk"),
        kind=AccessKind.OPENED,
        detail__in=access_log.PAGES_WITH_RISK_FLAGS,
        staff__in=deciders.values("pk"),
    )
    return Subquery(openings.order_by("-id").values("created_at")[:1])


def _last_change(others: QuerySet[User]) -> Subquery:
    # PostgreSQL's GREATEST passes over a profile that never changed.
    changed = others.annotate(last_change=Greatest("created_at", "profile_changed_at"))
    return Subquery(changed.order_by("-last_change").values("last_change")[:1])


def _approve(choice: Choice, *, reason: str, reason_code: str, by: Staff, source: str) -> str:
    """Approve one user; the reason of a refusal, or an empty text."""
    try:
        decide(
            user_id=choice.user_id,
            shown=choice.shown,
            to_status=Status.ACTIVE,
            reason=reason,
            reason_code=reason_code,
            by=by,
            source=source,
        )
    except StaleError as stale:
        return _changes_in_words(stale.meanwhile)
    except compliance.DecisionRefusedError as refused:
        return str(refused)
    except User.DoesNotExist:
        return _("User not found.")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        return _("The user is being changed at this moment: try again.")
    return ""


def _changes_in_words(meanwhile: Meanwhile) -> str:
    for decision in meanwhile.decisions:
        return _("%(name)s has decided in the meantime: %(status)s.") % {
            "name": decision.by.get_username(),
            "status": Status(decision.to_status).label,
        }
    if meanwhile.fields:
        changed = ", ".join(str(field.label) for field in meanwhile.fields)
        return _("Changed since you loaded the page: %(fields)s.") % {"fields": changed}
    return _("Changed since you loaded the page.")


def _with_users(refusals: Sequence[tuple[Choice, str]]) -> Iterator[Result]:
    users = User.objects.select_related("partner").in_bulk([choice.user_id for choice, _refusal in refusals])
    for choice, refusal in refusals:
        yield Result(choice, refusal, users.get(choice.user_id))
