"""The audit log for people: its lines in words, and in batches, newest first."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.lookups import Exact
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.exports.evidence_words import FILE_WORDS
from backoffice.exports.rows import in_batches
from backoffice.lists.cells import labelled
from core.audit import ACTIONS, COLUMNS
from core.models import EXTERNAL_ID, AuditEntry
from staff.roles import in_words
from transactions.models import DocumentType
from users.decisions.reasons import is_text_of, label_of
from users.models import ProposalState, RequirementCode, User
from users.models.case import detail_in_words
from users.profile.labels import LABELS, display_moment

# The lines of each kind that a search finds.
MAX_FOUND = 1_000
# Columns whose name alone would not say what they are, or that no tracked model has.
_COLUMNS = COLUMNS | {"status": User._meta.get_field("status")}  # noqa: SLF001 - Django's public name for it
_NAMES = {
    "reason": gettext_lazy("reason"),
    "reasonCode": gettext_lazy("reason code"),
    "commonMaker": gettext_lazy("made, re-roled or reset both accounts within 30 days"),
    "role": gettext_lazy("role"),
    "roles": gettext_lazy("roles"),
    "cause": gettext_lazy("cause"),
    "issuer": gettext_lazy("provider"),
    "code": gettext_lazy("code"),
    "fields": gettext_lazy("fields"),
    "message": gettext_lazy("message"),
    "dueInDays": gettext_lazy("days to answer"),
    "note": gettext_lazy("note"),
    "requirement": gettext_lazy("requirement"),
    "state": gettext_lazy("state"),
    "type": gettext_lazy("type"),
    "title": gettext_lazy("title"),
    "kind": gettext_lazy("kind"),
    "method": gettext_lazy("method"),
    "list": gettext_lazy("list"),
    "result": gettext_lazy("result"),
    "resolution": gettext_lazy("resolution"),
    "rating": gettext_lazy("rating"),
    "request": gettext_lazy("request of the person"),
    "rule": gettext_lazy("rule"),
    "partner": gettext_lazy("partner"),
    "externalId": gettext_lazy("external ID"),
    "user": gettext_lazy("user"),
    "export": gettext_lazy("export"),
    "filters": gettext_lazy("filters"),
    "deliveries": gettext_lazy("deliveries"),
    "sessions": gettext_lazy("sessions ended"),
    "claims": gettext_lazy("claims returned to the queue"),
    "proposals": gettext_lazy("proposals declined"),
    "address": gettext_lazy("address"),
    "key": gettext_lazy("API key"),
    "command": gettext_lazy("command"),
    "operator": gettext_lazy("operator"),
    "source": gettext_lazy("source"),
    "requestId": gettext_lazy("request id"),
}


_TYPES: Mapping[str, object] = {
    "totp": gettext_lazy("Authenticator app"),
    "webauthn": gettext_lazy("Passkey"),
    "recovery_codes": gettext_lazy("Recovery codes"),
    **dict(DocumentType.choices),
}


def _word_of(words: Mapping[str, Any], code: str) -> object:
    return words.get(code, code)


# The words for codes that lines have beside the changes of columns.
_WORDS: Mapping[str, Callable[[str], object]] = {
    "role": in_words,
    "roles": lambda names: ", ".join(in_words(name) for name in names.split(", ")),
    "type": lambda code: _TYPES.get(code, code),
    "code": lambda code: dict(RequirementCode.choices).get(code, code),
    "state": lambda code: dict(ProposalState.choices).get(code, code),
    "export": detail_in_words,
    **{name: partial(_word_of, words) for name, words in FILE_WORDS.items()},
}


def _in_words(name: str, value: Any) -> object:
    if name == "fields" and isinstance(value, list):
        return ", ".join(str(LABELS.get(str(one), one)) for one in value)
    return _WORDS[name](value) if name in _WORDS and isinstance(value, str) else value


def action_label(action: str) -> str:
    """What was done, in words; the code of an action that this version does not know."""
    return str(ACTIONS.get(action, action))


def detail_lines(entry: AuditEntry) -> list[str]:
    """What changed, and the circumstances, in words: "Rate limit: 600/minute → 60/minute", "reason: …"."""
    changes = entry.detail.get("changes") or {}
    lines = [_change(name, *values) for name, values in sorted(changes.items())]
    detail = dict(entry.detail)
    if code := detail.get("reasonCode"):
        detail["reasonCode"] = label_of(code)
        # The text of the code, in English: the code says it in the reader's language.
        if is_text_of(code, detail.get("reason", "")):
            del detail["reason"]
    return lines + [labelled(name, _in_words(key, detail[key])) for key, name in _NAMES.items() if key in detail]


def brief_detail(entry: AuditEntry, *, is_user_shown: bool) -> str:
    """The detail in one line, without what only an investigation needs: request ids, and the actor again.

    is_user_shown: whether external ID and partner of the user stand beside it.
    """
    hidden = {"requestId", "source"} | ({"partner", "externalId"} if is_user_shown else set())
    detail = {name: value for name, value in entry.detail.items() if name not in hidden}
    if detail.get("operator") == entry.actor:
        del detail["operator"]
    return "; ".join(detail_lines(AuditEntry(detail=detail)))


def of_external_id(external_id: str) -> Q:
    """The lines that concern a user of this externalId, of whatever partner."""
    return Q(Exact(EXTERNAL_ID, external_id))


def find(term: str, user_ids: Sequence[UUID]) -> tuple[list[int], bool]:
    """The newest lines whose actor, object or externalId is `term`, or that are about these users.

    At most MAX_FOUND of each kind, each a range of an index; and whether there are more.
    """
    kinds = [
        Q(actor=term),
        Q(object=term),
        of_external_id(term),
        Q(object__in=[str(pk) for pk in user_ids]),
    ]
    newest = AuditEntry.objects.order_by("-at", "-id").values_list("pk", flat=True)
    found = [list(newest.filter(kind)[: MAX_FOUND + 1]) for kind in kinds]
    return [pk for ids in found for pk in ids[:MAX_FOUND]], any(len(ids) > MAX_FOUND for ids in found)


def newest_first_about(entries: QuerySet[AuditEntry], name: str) -> Iterator[AuditEntry]:
    """Those of these lines whose object has this name, or that concern a user of this externalId."""
    # Two ranges of two indexes: for one condition the planner may read the whole log.
    of_object = entries.filter(object=name)
    of_user = entries.filter(of_external_id(name), ~Q(object=name))
    return heapq.merge(*map(newest_first, (of_object, of_user)), key=lambda entry: (entry.at, entry.pk), reverse=True)


def newest_first(entries: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    """All of these lines, read in batches."""
    return in_batches(entries, "at", newest_first=True)


def _change(name: str, before: Any, after: Any) -> str:
    column = _COLUMNS.get(name)
    label = column.verbose_name if column else name
    if before in (None, ""):
        return labelled(label, _value(column, after))
    return labelled(label, f"{_value(column, before)} → {_value(column, after)}")


def _value(column: Any, value: Any) -> str:
    if value in (None, "", []):
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, str) and column is not None:
        if column.get_internal_type() == "DateTimeField":
            with suppress(ValueError, OverflowError):
                return display_moment(datetime.fromisoformat(value))
        return str(dict(column.flatchoices).get(value, value))
    return str(value)
