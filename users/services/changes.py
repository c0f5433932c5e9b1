"""Changes of a user's profile, field by field, from the history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Coalesce

from users.models import AccessKind, AccessRecord, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS
from users.services.labels import LABELS, READING_ORDER, in_words


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after a change, formatted for people."""

    column: str
    label: Any
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a decision, or since the user was created where there is no decision."""

    decision: StatusChange | None
    since: datetime
    fields: tuple[FieldChange, ...]


class Version(NamedTuple):
    """The version of a user that a page shows: another one after each change of profile or status, and each review.

    identity_changed_at: empty where nothing waits for a review.
    """

    updated_at: str
    decision: int
    identity_changed_at: str

    @classmethod
    def of(cls, user: User) -> "Version":
        """The current version of a user who is locked or was just read."""
        return versions_of([user])[user.pk]

    @classmethod
    def parse(cls, text: str) -> "Version | None":
        """The version that `str` wrote; None for any other text."""
        try:
            updated_at, decision, identity_changed_at = text.split("/")
            return cls(_time(updated_at), int(decision[:18]), identity_changed_at and _time(identity_changed_at))
        except ValueError:
            return None

    def __str__(self) -> str:
        return "/".join(map(str, self))


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Changes of a user since a page was loaded. reviewed: the review of a changed name or birth date."""

    fields: tuple[FieldChange, ...]
    decisions: tuple[StatusChange, ...]
    reviewed: AccessRecord | None


def versions_of(users: Sequence[User]) -> dict[UUID, Version]:
    """The current version of each of these users, in one statement."""
    changes = StatusChange.objects.filter(user__in=[user.pk for user in users])
    last = changes.order_by("user", "-created_at", "-id").distinct("user").values_list("user", "pk")
    decisions: dict[UUID, int] = dict(last)
    return {
        user.pk: Version(
            user.updated_at.isoformat(),
            decisions.get(user.pk, 0),
            user.identity_changed_at.isoformat() if user.identity_changed_at else "",
        )
        for user in users
    }


def _time(text: str) -> str:
    """The time as isoformat writes it. Raises ValueError."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError
    return time.isoformat()


def differences(old: Any, new: Any, *, sees_identity: bool) -> Iterator[FieldChange]:
    """The fields in which two states of a profile differ, of those that the reader may see."""
    for column in READING_ORDER:
        before, after = getattr(old, column), getattr(new, column)
        if before != after and (sees_identity or column not in IDENTITY_COLUMNS):
            yield FieldChange(column, LABELS[column], in_words(column, before), in_words(column, after))


def since_last_decision(user: User, *, sees_identity: bool) -> Changes:
    """The changes since the last decision; without one, since the user was created."""
    decision = user.status_changes.select_related("by").order_by("-created_at", "-id").first()
    basis = _basis(user) if user.profile_changed_at is not None else None
    return Changes(
        decision,
        decision.created_at if decision else user.created_at,
        tuple(differences(basis, user, sees_identity=sees_identity)) if basis is not None else (),
    )


def changes_meanwhile(user: User, shown: Version | None, *, sees_identity: bool) -> Meanwhile:
    """The changes since a page showed this version; none where the user never had it."""
    if shown is None:
        return Meanwhile((), (), None)
    events = UserEvent.objects.filter(
        pgh_obj=user, updated_at=shown.updated_at, identity_changed_at=shown.identity_changed_at or None
    )
    loaded = events.order_by("-pgh_id").first()
    if loaded is None:
        return Meanwhile((), (), None)
    decisions = StatusChange.objects.filter(user=user, pk__gt=shown.decision).select_related("by").order_by("pk")
    reviewed = None
    if loaded.identity_changed_at is not None:
        reviews = AccessRecord.objects.filter(
            user=user, kind=AccessKind.REVIEWED, created_at__gte=loaded.identity_changed_at
        )
        reviewed = reviews.select_related("staff").order_by("id").first()
    return Meanwhile(tuple(differences(loaded, user, sees_identity=sees_identity)), tuple(decisions), reviewed)


def _basis(user: User) -> Any:
    """The user after the last move of the status: the first event after the last one of another status.

    Not by time: changes of one transaction share an instant.
    """
    history = UserEvent.objects.filter(pgh_obj=user)
    another = history.exclude(status=user.status).order_by("-pgh_id").values("pgh_id")[:1]
    return history.filter(pgh_id__gt=Coalesce(another, Value(0))).order_by("pgh_id").first()
