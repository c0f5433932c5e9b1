"""The names and values of an evidence pack's records in words, for its page."""

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
from django.utils.translation import gettext_lazy as _

from backoffice.lists.cells import labelled
from backoffice.lists.waiting_time import format_open_time
from users.decisions.decision_basis import flag_in_words
from users.decisions.reasons import label_of
from users.file.entries import KINDS
from users.models import AccessKind, FileKind, RequirementCode, Status
from users.models.columns import camel_case
from users.models.statuses import StatusReason
from users.profile.labels import LABELS, NOTHING, display_moment, display_value

Words = Mapping[str, Mapping[str, Any]]

_HEADINGS = {camel_case(column): label for column, label in LABELS.items()} | {
    "at": _("When"),
    "createdAt": _("Created"),
    "by": _("By"),
    "proposedBy": _("Proposed by"),
    "proposedAt": _("Proposed"),
    "commonMaker": _("Made, re-roled or reset both accounts within 30 days"),
    "what": _("What"),
    "change": _("Change"),
    "detail": _("Detail"),
    "requestId": _("Request ID"),
    "userId": _("User ID"),
    "partner": _("Partner"),
    "mode": _("Mode"),
    "statusSince": _("Status since"),
    "updatedAt": _("Last changed"),
    "version": _("Profile as of"),
    "openSeconds": _("Case open before"),
    "source": _("Origin"),
    "riskFlags": _("Risk flags"),
    "changes": _("Changes shown"),
    "from": _("From"),
    "to": _("To"),
    "reasonCode": _("Reason"),
    "reason": _("Reason as recorded"),
    "waitedSince": _("Waited since"),
    "profile": _("Profile at the time"),
    "requirementId": _("Requirement"),
    "code": _("What is needed"),
    "fields": _("Fields"),
    "message": _("Message"),
    "dueAt": _("Due"),
    "closedAt": _("Closed at"),
    "releasedAt": _("Released at"),
    "releasedBy": _("Released by"),
    "releaseReason": _("Reason of the release"),
    "statusReason": _("Reason"),
    "closedBy": _("Closed by"),
    "closedByDecision": _("Closed by the decision"),
    "closingNote": _("Note on closing"),
    "note": _("Note"),
    "answers": _("Values when asked, and with the answer"),
    "sizeBytes": _("Size"),
    "fileFault": _("Fault of the file"),
    "sha256": "SHA-256",
    "kind": _("Kind"),
    "closes": _("Closes"),
}
_HEADINGS = {name: label for kind in KINDS.values() for name, label in kind.labels.items()} | _HEADINGS
_WORDS: Words = {
    "status": dict(Status.choices),
    "from": dict(Status.choices),
    "to": dict(Status.choices),
    "statusReason": {
        StatusReason.VERIFIED.value: _("Verified"),
        StatusReason.INFORMATION_MISSING.value: _("Information is missing"),
        StatusReason.NOT_VERIFIED.value: _("Could not be verified"),
        StatusReason.DUPLICATE.value: _("Duplicate account"),
        StatusReason.NOT_SERVED.value: _("Not eligible for the service"),
        StatusReason.PARTNER_REQUEST.value: _("Requested by the partner"),
        StatusReason.USER_REQUEST.value: _("Requested by the user"),
        StatusReason.UNDER_REVIEW.value: _("Under review"),
    },
    "what": dict(AccessKind.choices),
    "change": {"created": _("Created"), "changed": _("Changed")},
}
FILE_WORDS: Words = {"kind": dict(FileKind.choices)} | {
    name: dict(choices.choices) for kind in KINDS.values() for name, choices in kind.choices.items()
}
REQUIREMENT_WORDS: Words = {"code": dict(RequirementCode.choices), "closedByDecision": dict(Status.choices)}


def _instant(value: datetime) -> str:
    """A time as the back office shows it, and beside it in UTC: a download is written outside its time zone."""
    utc = value.astimezone(UTC)
    with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
        return f"{display_moment(value, seconds=True)} ({date_format(utc, 'DATE_FORMAT')}, {utc:%H:%M:%S} UTC)"


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "reasonCode": label_of,
    "sizeBytes": filesizeformat,
    "openSeconds": format_open_time,
    # When the profile had last changed (users.decisions.changes.version_of).
    "version": lambda version: _instant(datetime.fromisoformat(version.partition("/")[0])),
    "file": lambda name: format_html('<a href="{}">{}</a>', name, name),
}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def heading(name: str) -> str:
    """Return the label of a field."""
    return str(_HEADINGS.get(name) or re.sub("[A-Z]", lambda capital: f" {capital[0].lower()}", name).capitalize())


def text(value: Any, name: str = "", words: Words | None = None) -> str:
    """Return a value as HTML or text to be escaped; as it is where it is not what the field has words for.

    words: labels of codes, by the field's name.
    """
    try:
        return _in_words(value, name, words or {})
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return str(value)


def _in_words(value: Any, name: str, words: Words) -> str:
    if isinstance(value, Mapping):
        return _changes({"fields": value}) if name == "answers" else _mapping(value)
    if isinstance(value, list):
        in_words: Callable[[Any], str] = _LISTED.get(name, _changes)
        return "; ".join(in_words(one) for one in value) or NOTHING
    if isinstance(value, datetime) or (name.endswith("At") and _INSTANT.fullmatch(str(value))):
        return _instant(value if isinstance(value, datetime) else datetime.fromisoformat(value))
    formatted = _FORMATS.get(name)
    if formatted and value is not None:
        return formatted(value)
    labels = {**_WORDS, **words}.get(name, {})
    if isinstance(value, str) and value in labels:
        return str(labels[value])
    if name.endswith(("On", "Date")) and isinstance(value, str):
        value = date.fromisoformat(value)
    return display_value("country" if name == "country" else "", value)


def _changes(changes: Mapping[str, Any]) -> str:
    fields = changes["fields"].items()
    return ", ".join(labelled(heading(name), f"{text(old, name)} → {text(new, name)}") for name, (old, new) in fields)


def _mapping(value: Mapping[str, Any]) -> str:
    if value.keys() == {"currency", "amount"}:
        return f"{value['currency']} {value['amount']}"
    return " · ".join(labelled(heading(name), text(one, name)) for name, one in value.items() if one != "") or NOTHING


# The values of lists, by the list's name, are written like this; other values are those of changes.
_LISTED: Mapping[str, Callable[[Any], str]] = {
    "riskFlags": lambda flag: flag_in_words(flag)[0],
    "fields": heading,
    "sources": lambda source: " · ".join(text(one, name, FILE_WORDS) for name, one in source.items()),
}
