"""What changed about a user, field by field: read from the history, which no session can alter."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Value
from django.db.models.functions import Coalesce

from users.models import AccessKind, AccessRecord, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS
from users.services.labels import LABELS, READING_ORDER, in_words


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, before and after, as people read them."""

    column: str
    label: Any
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What the profile differs in from when `decision` was made; None: from when it was created, `since` then."""

    decision: StatusChange | None
    since: datetime
    fields: tuple[FieldChange, ...]


class Version(NamedTuple):
    """The state that a page showed: it moves with each change of profile or status."""

    updated_at: str
    decision: int

    @classmethod
    def of(cls, user: User) -> "Version":
        """The present one: of a locked user, or of one read in the statement before."""
        last = last_decision(user)
        return cls(user.updated_at.isoformat(), last.pk if last else 0)

    @classmethod
    def parse(cls, text: str) -> "Version | None":
        """What `str` gave; None for any other text."""
        moment, _, decision = text.partition("/")
        try:
            shown = datetime.fromisoformat(moment)
            return cls(shown.isoformat(), int(decision[:18])) if shown.tzinfo else None
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.updated_at}/{self.decision}"


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happened to a user since a page showed them. reviewed: who found a changed name or birth date in order."""

    fields: tuple[FieldChange, ...]
    decisions: tuple[StatusChange, ...]
    reviewed: AccessRecord | None


def differences(old: Any, new: Any, *, sees_identity: bool) -> Iterator[FieldChange]:
    """The fields of the profile in which two states differ, of those that the reader may see."""
    for column in READING_ORDER:
        before, after = getattr(old, column), getattr(new, column)
        if before != after and (sees_identity or column not in IDENTITY_COLUMNS):
            yield FieldChange(column, LABELS[column], in_words(column, before), in_words(column, after))


def last_decision(user: User) -> StatusChange | None:
    """The latest decision about a user."""
    return user.status_changes.select_related("by").order_by("-created_at", "-id").first()


def since_last_decision(user: User, *, sees_identity: bool) -> Changes:
    """What a user differs in from what was last decided on; where nothing was, from what was first submitted."""
    decision = last_decision(user)
    basis = _basis(user) if user.profile_changed_at is not None else None
    return Changes(
        decision,
        decision.created_at if decision else user.created_at,
        tuple(differences(basis, user, sees_identity=sees_identity)) if basis is not None else (),
    )


def changes_meanwhile(user: User, shown: Version | None, *, sees_identity: bool) -> Meanwhile:
    """What happened to a user since a page showed this version of them; nothing where it never was one."""
    loaded = _event_of(user, shown) if shown else None
    if shown is None or loaded is None:
        return Meanwhile((), (), None)
    decisions = StatusChange.objects.filter(user=user, pk__gt=shown.decision).select_related("by").order_by("pk")
    was_reviewed = loaded.identity_changed_at is not None and user.identity_changed_at is None
    return Meanwhile(
        tuple(differences(loaded, user, sees_identity=sees_identity)), tuple(decisions), _review(user, was_reviewed)
    )


def _basis(user: User) -> Any:
    """The user as the last move of the status left them: the first state after the last one of another status.

    Not by time: many changes of one transaction share an instant.
    """
    history = UserEvent.objects.filter(pgh_obj=user)
    another = history.exclude(status=user.status).order_by("-pgh_id").values("pgh_id")[:1]
    return history.filter(pgh_id__gt=Coalesce(another, Value(0))).order_by("pgh_id").first()


def _event_of(user: User, shown: Version) -> Any:
    return UserEvent.objects.filter(pgh_obj=user, updated_at=shown.updated_at).order_by("-pgh_id").first()


def _review(user: User, was_reviewed: bool) -> AccessRecord | None:  # noqa: FBT001 - private, and read with its name
    if not was_reviewed:
        return None
    reviews = AccessRecord.objects.filter(user=user, kind=AccessKind.REVIEWED)
    return reviews.select_related("staff").order_by("-id").first()
