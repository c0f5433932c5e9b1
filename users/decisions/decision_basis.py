"""What a decision or a proposal was based on: the risk flags and changes that the case showed, kept with it as JSON.

The server makes it when the person decides. It is what the page showed, but for rows of other users: a form names the
version of the user that it was made on, and one that has changed since refuses it. The database checks the shape
(users/models/columns.py); what a reader cannot read of it is shown as it is.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from staff.models import Staff
from users.decisions.changes import Changes, FieldChange, since_decision, since_last_decision, version_of
from users.decisions.reasons import label_of, note_of
from users.decisions.risk_flags import RISK_FLAGS, RiskFlag, risk_flags_for, visible_flags
from users.models import AccessRecord, StatusChange, User
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS

HISTORY_PERMISSION = "users.view_userevent"


class PreviousDecision(NamedTuple):
    """The risk flag of an earlier rejection or suspension. changes: since then; None for readers without history."""

    flag: RiskFlag
    decision: StatusChange
    changes: Changes | None

    @property
    def reason(self) -> str:
        """The label of the reason's code."""
        return label_of(self.decision.reason_code)

    @property
    def note(self) -> str:
        """The reason in the person's own words."""
        return note_of(self.decision)


@dataclass(frozen=True)
class Snapshot:
    """What a page shows of a user to a member of the staff.

    changes: since the last decision, or since the user was created; None where `previous` has the same, and for
    readers who may not see the history.
    """

    user: User
    previous: tuple[PreviousDecision, ...]
    other_flags: tuple[RiskFlag, ...]
    changes: Changes | None

    @cached_property
    def risk_flags(self) -> list[RiskFlag]:
        """All risk flags, the gravest first."""
        return [*(one.flag for one in self.previous), *self.other_flags]

    def data(self) -> dict[str, Any]:
        """The version of the profile, the risk flags and the changes, as JSON values."""
        all_changes = [*(one.changes for one in self.previous), self.changes]
        return {
            "version": version_of(self.user),
            "riskFlags": [{"code": flag.code, "data": dict(flag.data)} for flag in self.risk_flags],
            "changes": [_data_of(changes) for changes in all_changes if changes and changes.fields],
        }


def snapshot_for(reader: Staff, user: User) -> Snapshot:
    """What the pages of a user show this person, in at most ten statements."""
    sees_identity, sees_history = reader.has_perm(IDENTITY_PERMISSION), reader.has_perm(HISTORY_PERMISSION)
    flags = risk_flags_for(user, sees_identity=sees_identity)
    previous = tuple(
        PreviousDecision(
            flag,
            flag.decision,
            since_decision(user, flag.decision, sees_identity=sees_identity) if sees_history else None,
        )
        for flag in flags
        if flag.decision
    )
    changes = since_last_decision(user, sees_identity=sees_identity) if sees_history else None
    if changes and changes.decision in [one.decision for one in previous]:
        changes = None
    return Snapshot(user, previous, tuple(flag for flag in flags if not flag.decision), changes)


def collect(*, user: User, by: Staff, source: str) -> dict[str, Any]:
    """What is kept of a locked user with what this person does now.

    openSeconds: since the person last opened the case in this status; None where that was not. source: the origin of
    the decision, such as a request's id or a command.
    """
    opened_at = AccessRecord.last_opening(user, by=by, since=user.status_since)
    open_seconds = round((timezone.now() - opened_at).total_seconds()) if opened_at else None
    return snapshot_for(by, user).data() | {"openSeconds": open_seconds, "source": source}


# For people


class Basis(NamedTuple):
    """A kept basis as a reader may see it. flags: titles and explanations. open_seconds: None where it was not open.

    by_command: whether there was no page, and this is what one would have shown.
    """

    flags: list[tuple[str, str]]
    changes: list[FieldChange]
    open_seconds: int | None
    by_command: bool


def display(basis: Mapping[str, Any], *, sees_identity: bool, sees_history: bool) -> Basis:
    """The flags and changes of a kept basis that a reader may see; of unknown ones those who see identity."""
    seen = {kind.code for kind in visible_flags(sees_identity=sees_identity)}
    flags = [flag_in_words(flag) for flag in basis["riskFlags"] if sees_identity or flag["code"] in seen]
    changes = [change for one in basis["changes"] for change in _fields_of(one["fields"])] if sees_history else []
    visible = [
        change
        for change in changes
        if sees_identity or (change.column in PROFILE_COLUMNS and change.column not in IDENTITY_COLUMNS)
    ]
    return Basis(flags, visible, basis["openSeconds"], not basis["source"].startswith("request "))


def flag_in_words(flag: Mapping[str, Any]) -> tuple[str, str]:
    """The title and the explanation of a kept flag."""
    kind = RISK_FLAGS.get(flag["code"])
    title = str(kind.title if kind else flag["code"])
    if kind:
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            return title, kind(flag["data"]).why
    return title, _("What was recorded of it cannot be read.")


def _data_of(changes: Changes) -> dict[str, Any]:
    return {
        "since": changes.since.isoformat(),
        "decision": changes.decision.pk if changes.decision else None,
        "fields": {field.column: [_json(field.before), _json(field.after)] for field in changes.fields},
    }


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value


def _fields_of(fields: Mapping[str, list[Any]]) -> Iterator[FieldChange]:
    for column, values in fields.items():
        yield FieldChange(column, *(_born(one) if column == "date_of_birth" else one for one in values))


def _born(value: Any) -> Any:
    with suppress(TypeError, ValueError):
        return date.fromisoformat(value)
    return value
