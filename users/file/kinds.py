"""What a kind of entries in a user's file declares; each is in a module of its own, and found by its code in KINDS."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, ClassVar

from rest_framework.exceptions import ErrorDetail

from core import json_rules
from partners.api.serializers import Errors, RuleField, StrictSerializer
from users.models import FileKind
from users.profile import field_rules


class DateField(RuleField):
    """A calendar date, as it is stored: YYYY-MM-DD. is_past: whether it must not be after today."""

    def __init__(self, *, is_past: bool = False, **kwargs: Any) -> None:
        super().__init__(partial(_stored_date, is_past=is_past), **kwargs)


def _stored_date(value: Any, *, is_past: bool) -> str:
    latest = field_rules.today() if is_past else date.max
    return field_rules.calendar_date(value, latest=latest).isoformat()


class NoteField(RuleField):
    """A text of up to `longest` characters, with line breaks."""

    def __init__(self, *, longest: int, **kwargs: Any) -> None:
        super().__init__(partial(json_rules.text_of_lines, longest=longest), **kwargs)


def out_of_range(message: str) -> list[ErrorDetail]:
    """The error of a date that does not fit another."""
    return [ErrorDetail(message, "range")]


class EntrySerializer(StrictSerializer[Any]):
    """The fields of a kind, or those of the entries that end one; values are as they are stored.

    varies_by: the field whose value decides on the others; variants: the serializer of each value.
    """

    varies_by: ClassVar[str] = ""
    variants: ClassVar[Mapping[Any, "EntrySerializer"]] = {}

    def validated(self, data: Any, *, born: date, ended: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The values of valid data. born: of the user. ended: the fields of the entry that this one ends.

        Raises DRF's ValidationError with all errors.
        """
        values, errors = self.check_fields(data)
        self.check(values, errors, born=born, ended=ended or {})
        self.raise_errors(errors)
        return values

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        """Add the errors of values that do not fit each other, and what is made of others."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of entries. labels: what people read for its fields; those that are not here they do not see.

    serializer, ending: of an entry, and of one that ends it. due: the field that is stored as `due_on`. topic: of the
    values, which tells entries apart of which the newest counts. secret: fields that are encrypted. choices: the codes
    of fields, with their labels. hints: what a form says below a field. icon: of Material. is_imported: whether another
    system may bring entries. list_title: of the list of open entries, empty for none. lists_all: whether that list has
    those, too, that are not due yet. is_told: whether the person's copy has them. partner_sees: what partners see;
    empty for nothing.
    """

    code: FileKind
    serializer: EntrySerializer
    labels: Mapping[str, Any]
    choices: Mapping[str, Any] = field(default_factory=dict)
    ending: EntrySerializer | None = None
    due: str = ""
    topic: Callable[[Mapping[str, Any]], str] = lambda _values: ""
    secret: AbstractSet[str] = frozenset()
    is_imported: bool = True
    hints: Mapping[str, Any] = field(default_factory=dict)
    icon: str = "folder_open"
    list_title: Any = ""
    lists_all: bool = True
    is_told: bool = False
    partner_sees: Any = ""


# By code, in the order of FileKind, which is that of pages.
KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Add a kind."""
    KINDS[kind.code] = kind
    for code in filter(KINDS.__contains__, FileKind.values):
        KINDS[code] = KINDS.pop(code)
    return kind
