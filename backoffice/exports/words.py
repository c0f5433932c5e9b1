"""The names and values of records in words: on the pages of evidence packs, and in the audit log."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from backoffice.lists.cells import labelled
from backoffice.lists.waiting_time import format_open_time
from staff import roles
from transactions.documents.downloads import DocumentProblem
from transactions.models import DocumentType
from users.decisions.decision_basis import flag_in_words
from users.decisions.reasons import label_of
from users.file.kinds import KINDS
from users.models import AccessKind, FileKind, ProposalState, RequirementCode, Status
from users.models.case import detail_in_words
from users.models.columns import camel_case
from users.models.statuses import StatusReason
from users.profile.labels import LABELS, NOTHING, display_moment, display_value

# Names that are not their own words.
_HEADINGS = {
    **{name: label for kind in KINDS.values() for name, label in kind.labels.items()},
    **{camel_case(column): label for column, label in LABELS.items()},
    "at": _("When"),
    "commonMaker": _("Made, re-roled or reset both accounts within 30 days"),
    "version": _("Profile as of"),
    "openSeconds": _("Case open before"),
    "source": _("Origin"),
    "changes": _("Changes shown"),
    "profile": _("Profile at the time"),
    "code": _("What is needed"),
    "answers": _("Values when asked, and with the answer"),
    "sizeBytes": _("Size"),
    "fileFault": _("Fault of the file"),
    "sha256": "SHA-256",
    "dueInDays": _("Days to answer"),
    "issuer": _("Provider"),
    "key": _("API key"),
    "sessions": _("Sessions ended"),
    "claims": _("Claims returned to the queue"),
    "proposals": _("Proposals declined"),
}
# The words of the others, for their translations.
_TRANSLATED = (
    *(_("Address"), _("Approved by"), _("Approved at"), _("By"), _("Cause"), _("Change"), _("Closed at")),
    *(_("Closed by"), _("Closed by decision"), _("Closes"), _("Closing note"), _("Command"), _("Content type")),
    *(_("Conversion ID"), _("Created at"), _("Deliveries"), _("Detail"), _("Document ID"), _("Due at"), _("Ended at")),
    *(_("Ended by"), _("Ends"), _("Entry"), _("Export"), _("Fields"), _("File"), _("Filters"), _("From"), _("Hold")),
    *(_("Imported"), _("Kind"), _("Message"), _("Mode"), _("Note"), _("Operator"), _("Partner"), _("Proposal")),
    *(_("Proposed at"), _("Proposed by"), _("Rate"), _("Reason"), _("Reason code"), _("Recorded"), _("Rejected")),
    *(_("Release reason"), _("Released at"), _("Released by"), _("Request ID"), _("Requirement"), _("Requirement ID")),
    *(_("Risk flags"), _("Role"), _("Roles"), _("Rows"), _("Rule"), _("Staff"), _("State"), _("Status reason")),
    *(_("Status since"), _("Title"), _("To"), _("Type"), _("Unchanged"), _("Updated at"), _("User"), _("User ID")),
    *(_("Users"), _("Waited since"), _("What"), _("Withdrawal reason"), _("Withdrawn at"), _("Withdrawn by")),
)
_WORDS: Mapping[str, Mapping[str, Any]] = {
    "status": dict(Status.choices),
    "from": dict(Status.choices),
    "to": dict(Status.choices),
    "closedByDecision": dict(Status.choices),
    "statusReason": dict(StatusReason.choices),
    "what": {**dict(AccessKind.choices), "decision": _("Decision"), "proposal": _("Proposal")},
    "change": {"created": _("Created"), "changed": _("Changed")},
    "code": dict(RequirementCode.choices),
    "state": dict(ProposalState.choices),
    "role": roles.NAMES,
    "type": {
        **dict(DocumentType.choices),
        "conversion": _("Conversion"),
        "totp": _("Authenticator app"),
        "webauthn": _("Passkey"),
        "recovery_codes": _("Recovery codes"),
    },
    "fileFault": {**dict(DocumentProblem.choices), "too large": _("The files together exceed the limit of a pack")},
    "kind": dict(FileKind.choices),
    **{name: dict(choices.choices) for kind in KINDS.values() for name, choices in kind.choices.items()},
}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


def heading(name: str) -> str:
    """Return the words of a name: `closedBy` is "Closed by"."""
    words = re.sub("[A-Z]", lambda capital: f" {capital[0].lower()}", name).capitalize()
    return str(_HEADINGS.get(name) or gettext(re.sub(r"\bid$", "ID", words)))


def text(value: Any, name: str = "") -> str:
    """Return the value of this name as HTML, or text to be escaped; as it is where the name has other values."""
    try:
        return _in_words(value, name)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return str(value)


def _in_words(value: Any, name: str) -> str:
    if name in _FORMATS and value is not None:
        return _FORMATS[name](value) or NOTHING
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, list):
        return ", ".join(text(one, name) for one in value) or NOTHING
    if isinstance(value, datetime) or (name.endswith("At") and _INSTANT.fullmatch(str(value))):
        return _instant(value if isinstance(value, datetime) else datetime.fromisoformat(value))
    if isinstance(value, str) and value in _WORDS.get(name, {}):
        return str(_WORDS[name][value])
    if isinstance(value, str) and name.endswith(("On", "Date", "OfBirth")):
        value = date.fromisoformat(value)
    return display_value("country" if name == "country" else "", value)


def _instant(value: datetime) -> str:
    """A time as the back office shows it, and beside it in UTC: a download is written outside its time zone."""
    utc = value.astimezone(UTC)
    with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
        return f"{display_moment(value, seconds=True)} ({date_format(utc, 'DATE_FORMAT')}, {utc:%H:%M:%S} UTC)"


def _changes(fields: Mapping[str, Any]) -> str:
    lines = ((heading(name), f"{text(old, name)} → {text(new, name)}") for name, (old, new) in fields.items())
    return ", ".join(labelled(*line) for line in lines)


def _mapping(value: Mapping[str, Any]) -> str:
    if value.keys() == {"currency", "amount"}:
        return f"{value['currency']} {value['amount']}"
    return " · ".join(labelled(heading(name), text(one, name)) for name, one in value.items() if one != "") or NOTHING


def _names(value: list[str] | str) -> list[str]:
    return value.split(", ") if isinstance(value, str) else value


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "reasonCode": label_of,
    "export": detail_in_words,
    "sizeBytes": filesizeformat,
    "openSeconds": format_open_time,
    # When the profile had last changed (users/decisions/decision_basis.py).
    "version": lambda version: _instant(datetime.fromisoformat(version.partition("/")[0])),
    # Of a document in a pack; elsewhere it is none of the pack's.
    "file": lambda name: format_html('<a href="{0}">{0}</a>', name) if name.startswith("documents/") else name,
    "fields": lambda columns: ", ".join(heading(camel_case(column)) for column in _names(columns)),
    "roles": lambda names: ", ".join(roles.in_words(role) for role in _names(names)),
    "riskFlags": lambda flags: "; ".join(flag_in_words(flag)[0] for flag in flags),
    "sources": lambda sources: "; ".join(map(_mapping, sources)),
    "changes": lambda changes: "; ".join(_changes(one["fields"]) for one in changes),
    "answers": _changes,
}
