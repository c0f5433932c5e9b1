"""What a decision or a proposal was based on: the risk flags and changes that the case showed, kept with it as JSON.

The server makes it when the person decides, about the version of the user that the page showed.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Func, IntegerField, OuterRef, Subquery
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from core.formats import parse_timestamp
from staff.models import Staff
from users.decisions.reasons import NOTES_PERMISSION
from users.decisions.risk_flags import RISK_FLAGS, RiskFlag, risk_flags_for, visible_flags, with_risk_flags
from users.models import AccessRecord, FileEntry, Requirement, Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.profile.labels import LABELS, NOTHING, READING_ORDER, display_value


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


def flags_and_version(user: User) -> tuple[list[str], str]:
    """The codes of all risk flags of a user, and the version of its case, in one statement.

    The version is another one after each change of profile, status or flags, each answer, requirement and file entry.
    """
    of_user, rows = {"user": OuterRef("pk")}, Func("pk", function="count", output_field=IntegerField())
    counts = [Subquery(one.objects.filter(**of_user).values(rows=rows)) for one in (Requirement, FileEntry)]
    shown: Any = with_risk_flags(User.objects.filter(pk=user.pk)).values_list("flag_codes", *counts).first() or ([],)
    answered = user.answered_at.isoformat() if user.answered_at else ""
    # Nobody reads in it which flags there are: some are not for all.
    sealed = salted_hmac("users.version", f"{user.pk} {shown}").hexdigest()
    return shown[0], f"{user.updated_at.isoformat()}/{answered}/{sealed}"


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


def changes_since(user: User, expected_version: str, *, sees_identity: bool) -> dict[str, Any]:
    """What has changed since a page showed this version, for a template; none where it is not one of the user's."""
    updated_then, answered_then, *_sealed = [*expected_version.split("/"), ""]
    loaded: Any = None
    with suppress(ValueError):
        loaded = UserEvent.objects.filter(pgh_obj=user, updated_at=parse_timestamp(updated_then)).first()
    if loaded is None:
        return {}
    answered = user.answered_at
    return {
        "fields": [*differences(loaded, user, sees_identity=sees_identity)],
        "decisions": [*user.status_changes.filter(created_at__gt=loaded.status_since).select_related("by")],
        "answered_at": answered if answered is not None and answered.isoformat() != answered_then else None,
    }


HISTORY_PERMISSION = "users.view_userevent"


@dataclass(frozen=True)
class Snapshot:
    """What a page shows of a user to a member of the staff.

    previous: the flags of earlier decisions, each with the changes since. changes: since the last decision, or
    since the creation; None where `previous` has them. All changes are None for readers who may not see the history.
    """

    user: User
    codes: list[str]  # of all risk flags, also those that the reader may not see
    version: str
    risk_flags: list[RiskFlag]  # the gravest first
    previous: tuple[tuple[RiskFlag, Changes | None], ...]
    changes: Changes | None

    def data(self) -> dict[str, Any]:
        """The version of the case, the risk flags and the changes, as JSON values."""
        return {
            "version": self.version,
            "riskFlags": [{"code": flag.code, "data": dict(flag.data)} for flag in self.risk_flags],
            "changes": [
                {
                    "since": changes.since.isoformat(),
                    "decision": changes.decision.pk if changes.decision else None,
                    "fields": {field.column: [_json(field.before), _json(field.after)] for field in changes.fields},
                }
                for changes in (*(changes for _flag, changes in self.previous), self.changes)
                if changes and changes.fields
            ],
        }


def snapshot_for(reader: Staff, user: User) -> Snapshot:
    """What the pages of a user show this person, in at most ten statements."""
    sees_identity, sees_history = reader.has_perm(IDENTITY_PERMISSION), reader.has_perm(HISTORY_PERMISSION)
    codes, version = flags_and_version(user)
    flags = risk_flags_for(user, codes, sees_identity=sees_identity)
    previous = tuple(
        (flag, since_decision(user, flag.decision, sees_identity=sees_identity) if sees_history else None)
        for flag in flags
        if flag.decision
    )
    changes = since_last_decision(user, sees_identity=sees_identity) if sees_history else None
    if changes and changes.decision in [flag.decision for flag, _changes in previous]:
        changes = None
    return Snapshot(user, codes, version, flags, previous, changes)


def collect(*, user: User, by: Staff, source: str) -> dict[str, Any]:
    """What is kept of a locked user with what this person does now. source: the origin of the decision.

    openSeconds: since the person last opened the case in this status; None where that was not.
    """
    opened_at = AccessRecord.last_opening(user, by=by, since=user.status_since)
    open_seconds = round((timezone.now() - opened_at).total_seconds()) if opened_at else None
    return snapshot_for(by, user).data() | {"openSeconds": open_seconds, "source": source}


def display(basis: Mapping[str, Any], reader: Staff) -> dict[str, Any]:
    """What a reader may see of a kept basis; of flags and fields that are unknown by now, those who see identity;
    of an earlier decision's reason without a code, those who see notes.

    open_seconds: None where the case was not open. by_command: this is what a page would have shown.
    """
    sees_identity, sees_history = reader.has_perm(IDENTITY_PERMISSION), reader.has_perm(HISTORY_PERMISSION)
    seen = {kind.code for kind in visible_flags(sees_identity=sees_identity)}
    hidden = {} if reader.has_perm(NOTES_PERMISSION) else {"reason": NOTHING}
    flags = [flag | {"data": flag["data"] | hidden} for flag in basis["riskFlags"]]
    changes = [
        FieldChange(column, *(_born(one) if column == "date_of_birth" else one for one in values))
        for since in basis["changes"]
        for column, values in since["fields"].items()
        if sees_history and (sees_identity or column in {*PROFILE_COLUMNS} - IDENTITY_COLUMNS)
    ]
    return {
        "flags": [flag_in_words(flag) for flag in flags if sees_identity or flag["code"] in seen],
        "changes": changes,
        "open_seconds": basis["openSeconds"],
        "by_command": not basis["source"].startswith("request "),
    }


def flag_in_words(flag: Mapping[str, Any]) -> tuple[str, str]:
    """The title and the explanation of a kept flag."""
    title = flag["code"]
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        kind = RISK_FLAGS[title]
        title = str(kind.title)
        return title, kind(flag["data"]).why
    return title, _("What was recorded of it cannot be read.")


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value


def _born(value: Any) -> Any:
    with suppress(TypeError, ValueError):
        return date.fromisoformat(value)
    return value
