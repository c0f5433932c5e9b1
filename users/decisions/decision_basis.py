"""What a decision or a proposal was based on: the risk flags and changes that the case showed, kept with it as JSON.

The server makes it when the person decides, about the version of the user that the page showed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from staff.models import Staff
from users.decisions.changes import Changes, FieldChange, since_decision, since_last_decision, version_of
from users.decisions.risk_flags import RISK_FLAGS, RiskFlag, risk_flags_for, visible_flags
from users.models import AccessRecord, User
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS

HISTORY_PERMISSION = "users.view_userevent"


@dataclass(frozen=True)
class Snapshot:
    """What a page shows of a user to a member of the staff.

    previous: the risk flags of earlier decisions, each with the changes since. changes: since the last decision, or
    since the creation; None where `previous` has them. All changes are None for readers who may not see the history.
    """

    user: User
    previous: tuple[tuple[RiskFlag, Changes | None], ...]
    other_flags: tuple[RiskFlag, ...]
    changes: Changes | None

    @cached_property
    def risk_flags(self) -> list[RiskFlag]:
        """All risk flags, the gravest first."""
        return [*(flag for flag, _changes in self.previous), *self.other_flags]

    def data(self) -> dict[str, Any]:
        """The version of the profile, the risk flags and the changes, as JSON values."""
        return {
            "version": version_of(self.user),
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
    flags = risk_flags_for(user, sees_identity=sees_identity)
    previous = tuple(
        (flag, since_decision(user, flag.decision, sees_identity=sees_identity) if sees_history else None)
        for flag in flags
        if flag.decision
    )
    changes = since_last_decision(user, sees_identity=sees_identity) if sees_history else None
    if changes and changes.decision in [flag.decision for flag, _changes in previous]:
        changes = None
    return Snapshot(user, previous, tuple(flag for flag in flags if not flag.decision), changes)


def collect(*, user: User, by: Staff, source: str) -> dict[str, Any]:
    """What is kept of a locked user with what this person does now. source: the origin of the decision.

    openSeconds: since the person last opened the case in this status; None where that was not.
    """
    opened_at = AccessRecord.last_opening(user, by=by, since=user.status_since)
    open_seconds = round((timezone.now() - opened_at).total_seconds()) if opened_at else None
    return snapshot_for(by, user).data() | {"openSeconds": open_seconds, "source": source}


def display(basis: Mapping[str, Any], *, sees_identity: bool, sees_history: bool) -> dict[str, Any]:
    """What a reader may see of a kept basis; of flags and fields that are unknown by now, those who see identity.

    open_seconds: None where the case was not open. by_command: this is what a page would have shown.
    """
    seen = {kind.code for kind in visible_flags(sees_identity=sees_identity)}
    changes = [
        FieldChange(column, *(_born(one) if column == "date_of_birth" else one for one in values))
        for since in basis["changes"]
        for column, values in since["fields"].items()
        if sees_history and (sees_identity or column in {*PROFILE_COLUMNS} - IDENTITY_COLUMNS)
    ]
    return {
        "flags": [flag_in_words(flag) for flag in basis["riskFlags"] if sees_identity or flag["code"] in seen],
        "changes": changes,
        "open_seconds": basis["openSeconds"],
        "by_command": not basis["source"].startswith("request "),
    }


def flag_in_words(flag: Mapping[str, Any]) -> tuple[str, str]:
    """The title and the explanation of a kept flag."""
    kind = RISK_FLAGS.get(flag["code"])
    title = str(kind.title if kind else flag["code"])
    if kind:
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            return title, kind(flag["data"]).why
    return title, _("What was recorded of it cannot be read.")


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value


def _born(value: Any) -> Any:
    with suppress(TypeError, ValueError):
        return date.fromisoformat(value)
    return value
