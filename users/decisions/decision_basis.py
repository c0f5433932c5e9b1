"""What a decision or a review was based on: the risk flags and changes that the person saw, kept with it.

A page sends what it showed back with the decision, signed, so that just this is kept and nothing is read again. A
decision without a page, by a command or for several users at once, keeps what the page would have shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from django.core import signing
from django.utils.functional import cached_property

from users.decisions.changes import Changes, FieldChange, since_decision, since_last_decision, version_of
from users.decisions.reasons import label_of, note_of
from users.decisions.risk_flags import FlagCode, RiskFlag, is_visible, risk_flags_for
from users.models import AccessRecord, DecisionBasis, Staff, StatusChange, User
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION

HISTORY_PERMISSION = "users.view_userevent"
_SALT = "users.decision_basis"


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
    reader: Staff
    previous: tuple[PreviousDecision, ...]
    other_flags: tuple[RiskFlag, ...]
    changes: Changes | None

    @cached_property
    def risk_flags(self) -> list[RiskFlag]:
        """All risk flags, the gravest first."""
        return [*(one.flag for one in self.previous), *self.other_flags]

    @cached_property
    def signed_text(self) -> str:
        """What a form sends back; see `read`."""
        whose = {"user": str(self.user.pk), "staff": self.reader.pk}
        return signing.dumps(whose | {"data": self.data()}, salt=_SALT, compress=True)

    def data(self) -> dict[str, Any]:
        """The version of the profile, the risk flags and the changes, as JSON values."""
        all_changes = [*(one.changes for one in self.previous), self.changes]
        return {
            "version": version_of(self.user),
            "riskFlags": [{"code": flag.code.value, "data": dict(flag.data)} for flag in self.risk_flags],
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
    return Snapshot(user, reader, previous, tuple(flag for flag in flags if not flag.decision), changes)


def read(snapshot: str, *, user: User, by: Staff) -> dict[str, Any] | None:
    """The data that a page about this user, in this version, sent back for this person; None for any other text."""
    try:
        content = signing.loads(snapshot, salt=_SALT)
    except signing.BadSignature:
        return None
    is_theirs = (content["user"], content["staff"]) == (str(user.pk), by.pk)
    return content["data"] if is_theirs and content["data"]["version"] == version_of(user) else None


def collect(*, user: User, by: Staff, snapshot: str, source: str) -> DecisionBasis:
    """A row not stored yet, for a locked user who is as the person saw them. snapshot: of the page; empty without one.

    source: the origin of the decision, such as a request's id or a command.
    """
    data = read(snapshot, user=user, by=by)
    return DecisionBasis(
        was_shown=data is not None, data=(snapshot_for(by, user).data() if data is None else data) | {"source": source}
    )


def keep(basis: DecisionBasis, *, decision: StatusChange | None = None, review: AccessRecord | None = None) -> None:
    """Store the row with its decision or review; a trigger measures how long the case was open."""
    basis.decision, basis.review = decision, review
    basis.save(force_insert=True)


# For people


class Basis(NamedTuple):
    """A kept basis as a reader may see it. flags: titles and explanations."""

    row: DecisionBasis
    flags: list[RiskFlag]
    changes: list[FieldChange]


def display(row: DecisionBasis, *, sees_identity: bool, sees_history: bool) -> Basis:
    """The flags and changes of a kept basis that a reader may see."""
    flags = [RiskFlag(FlagCode(flag["code"]), flag["data"]) for flag in row.data["riskFlags"]]
    visible = [flag for flag in flags if is_visible(flag.code, sees_identity=sees_identity)]
    changes = [change for one in row.data["changes"] for change in _fields_of(one["fields"])] if sees_history else []
    return Basis(row, visible, [change for change in changes if sees_identity or change.column not in IDENTITY_COLUMNS])


def _data_of(changes: Changes) -> dict[str, Any]:
    return {
        "since": changes.since.isoformat(),
        "decision": changes.decision.pk if changes.decision else None,
        "fields": {field.column: [_json(field.before), _json(field.after)] for field in changes.fields},
    }


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value


def _fields_of(fields: Mapping[str, list[Any]]) -> Iterator[FieldChange]:
    for column, (before, after) in fields.items():
        if column == "date_of_birth":
            before, after = date.fromisoformat(before), date.fromisoformat(after)  # noqa: PLW2901
        yield FieldChange(column, before, after)
