"""Changes of a user's profile, field by field, from the history."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.formats import parse_timestamp
from users.models import Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS
from users.profile.labels import LABELS, READING_ORDER, display_value


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
    """Changes of a user by others since a page was loaded. answered_at: when the partner answered, if it did."""

    fields: tuple[FieldChange, ...] = ()
    decisions: tuple[StatusChange, ...] = ()
    answered_at: datetime | None = None


def version_of(user: User) -> str:
    """The version of a user that a page shows: another one after each change of profile or status, and each answer."""
    answered = f"/{user.answered_at.isoformat()}" if user.answered_at else ""
    return user.updated_at.isoformat() + answered


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
    """The changes since a page showed this version; none where it is not one of the user's."""
    updated_then, _separator, answered_then = expected_version.partition("/")
    loaded: Any = None
    with suppress(ValueError):
        loaded = UserEvent.objects.filter(pgh_obj=user, updated_at=parse_timestamp(updated_then)).first()
    if loaded is None:
        return ConcurrentChanges()
    answered = user.answered_at
    return ConcurrentChanges(
        tuple(differences(loaded, user, sees_identity=sees_identity)),
        tuple(user.status_changes.filter(created_at__gt=loaded.status_since).select_related("by")),
        answered if answered is not None and answered.isoformat() != answered_then else None,
    )
