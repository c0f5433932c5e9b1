"""Changes of a user's profile, field by field, from the history."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from users.models import AccessKind, AccessRecord, Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS
from users.profile.labels import LABELS, READING_ORDER, display_value

EVENTS_COMPARED = 200


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after a change. label, old and new are for people."""

    column: str
    before: Any
    after: Any

    @property
    def label(self) -> Any:
        """The name of the field."""
        return LABELS.get(self.column, self.column)

    @property
    def is_difference(self) -> bool:
        """Whether the values differ: an answer may also confirm one."""
        return bool(self.before != self.after)

    @property
    def old(self) -> str:
        """The value before."""
        return display_value(self.column, self.before)

    @property
    def new(self) -> str:
        """The value after."""
        return display_value(self.column, self.after)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a decision, or since the user was created where there is no decision."""

    decision: StatusChange | None
    since: datetime
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class ConcurrentChanges:
    """Changes of a user by others since a page was loaded.

    reviewed: the review of a changed name or birth date. answered_at: when the partner answered; None if it did not.
    """

    fields: tuple[FieldChange, ...]
    decisions: tuple[StatusChange, ...]
    reviewed: AccessRecord | None
    answered_at: datetime | None = None


def version_of(state: Any) -> str:
    """The version of a user that a page shows: another one after each change of profile or status, and each review.

    Of a user also after each answer of the partner to a requirement. state: a user, or an event of the history, which
    has no answers.
    """
    reviewed = state.identity_changed_at.isoformat() if state.identity_changed_at else ""
    answered = getattr(state, "answered_at", None)
    return f"{state.updated_at.isoformat()}/{reviewed}" + (f"/{answered.isoformat()}" if answered else "")


def differences(old: Any, new: Any, *, sees_identity: bool) -> Iterator[FieldChange]:
    """The fields in which two states of a profile differ, of those that the reader may see."""
    for column in READING_ORDER:
        before, after = getattr(old, column), getattr(new, column)
        if before != after and (sees_identity or column not in IDENTITY_COLUMNS):
            yield FieldChange(column, before, after)


def since_last_decision(user: User, *, sees_identity: bool) -> Changes:
    """The changes since the last decision on the profile, which a reopening is not; without one, since the creation."""
    verdicts = user.status_changes.exclude(to_status=Status.PENDING_COMPLIANCE).select_related("by")
    return since_decision(user, verdicts.order_by("-created_at", "-id").first(), sees_identity=sees_identity)


def since_decision(user: User, decision: StatusChange | None, *, sees_identity: bool) -> Changes:
    """The changes since this decision, or since the user was created. One statement, none where nothing changed."""
    since = decision.created_at if decision else user.created_at
    if user.profile_changed_at is None or user.profile_changed_at <= since:
        return Changes(decision, since, ())
    history = UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id")
    # The event's time would not do: changes of one transaction share an instant.
    before: Any = (history.filter(status_since=since) if decision else history).first()
    return Changes(decision, since, tuple(differences(before, user, sees_identity=sees_identity)) if before else ())


def changes_since(user: User, expected_version: str, *, sees_identity: bool) -> ConcurrentChanges:
    """The changes since a page showed this version; none where it is not among the user's latest EVENTS_COMPARED."""
    events = UserEvent.objects.filter(pgh_obj=user).order_by("-pgh_id")[:EVENTS_COMPARED]
    updated, _separator, rest = expected_version.partition("/")
    reviewed_then, _separator, answered_then = rest.partition("/")
    profile_shown = f"{updated}/{reviewed_then}"
    loaded: Any = next((event for event in events if version_of(event) == profile_shown), None)
    if loaded is None:
        return ConcurrentChanges((), (), None)
    decisions = user.status_changes.filter(created_at__gt=loaded.status_since).select_related("by")
    reviewed = None
    if loaded.identity_changed_at is not None:
        reviews = AccessRecord.objects.filter(
            user=user, kind=AccessKind.REVIEWED, created_at__gte=loaded.identity_changed_at
        )
        reviewed = reviews.select_related("staff").order_by("id").first()
    answered = user.answered_at
    return ConcurrentChanges(
        tuple(differences(loaded, user, sees_identity=sees_identity)),
        tuple(decisions),
        reviewed,
        answered if answered is not None and answered.isoformat() != answered_then else None,
    )
