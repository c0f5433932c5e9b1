"""Lines of imports: one conversion each, as JSON (docs/operations.md)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.core.exceptions import ValidationError

from partners.api.errors import BadRequestError
from partners.api.json import JsonObject, MalformedJsonError, parse_object
from partners.api.serializers import NAME_LENGTH_IN_ERRORS
from transactions import patterns
from transactions.timestamps import TooLateError, parse_created_at
from users.profile.field_rules import external_id

# The quotes of 12 names and 10 strings. With more, a name may be repeated.
QUOTES = 44
# A conversion is about 400 bytes. Longer lines are not kept in memory.
MAX_LINE_BYTES = 64 * 1024


class Form(NamedTuple):
    """The form of a text. lengths: from the shortest to the longest."""

    pattern: re.Pattern[str]
    description: str
    lengths: tuple[int, int]


_SLUG = Form(re.compile(r"[a-z0-9-]{1,50}", re.ASCII), "a partner's slug, such as acme", (1, 50))
CONVERSION_ID = Form(re.compile(patterns.CONVERSION_ID), "1 to 64 of A-Z a-z 0-9 . - _, such as cnv-1", (1, 64))
CURRENCY = Form(re.compile(patterns.CURRENCY), "3 to 10 upper-case letters or digits, such as CAD", (3, 10))
DECIMAL = Form(
    re.compile(patterns.DECIMAL, re.ASCII),
    'a plain decimal string, with at most 20 digits before the point and 18 after, such as "100.00"',
    (1, 39),
)
NOT_A_SIDE = "must be an object of currency and amount"
NOT_JSON = "not a JSON object in UTF-8"
# So many unknown or repeated names of an object are told.
MAX_NAMES = 5

Rule = Callable[[Any], str]


class LineProblem(ValueError):  # noqa: N818 - a finding about the input, not an error of the program
    """What is wrong with a line or a value, without the value.

    field: the one concerned, such as from.amount; empty for the line as a whole. code: of section 1.
    """

    def __init__(self, problem: str, field: str = "", code: str = "format") -> None:
        super().__init__(f"{field} {problem}" if field else problem)
        self.problem, self.field, self.code = problem, field, code


class RejectedLineError(ValueError):
    """A line that cannot be imported. Its text is all that is wrong with it, in one line, without values."""


def parse_line(line: bytes) -> str:
    """The values of a line in COPY's text format, after its number (staging.py). Raises RejectedLineError."""
    if len(line) > MAX_LINE_BYTES:
        raise RejectedLineError(f"longer than {MAX_LINE_BYTES} bytes")
    try:
        record = _object(line)
        if record.keys() != _RULES.keys():
            raise LineProblem("other names")
        return "\t".join([rule(record[name]) for name, rule in _RULES.items()])
    except (ValueError, BadRequestError):
        # The quick way ends at the first problem; an operator corrects all at once.
        raise RejectedLineError("; ".join(map(str, _problems_of_line(line, _RULES))) or NOT_JSON) from None


def parse_record(line: bytes, rules: Mapping[str, Rule]) -> dict[str, str]:
    """The values of a line that has exactly these names, by name. Raises RejectedLineError."""
    if len(line) > MAX_LINE_BYTES:
        raise RejectedLineError(f"longer than {MAX_LINE_BYTES} bytes")
    if problems := [str(problem) for problem in _problems_of_line(line, rules)]:
        raise RejectedLineError("; ".join(problems))
    record = parse_object(line)
    return {name: rule(record[name]) for name, rule in rules.items()}


def _object(line: bytes) -> dict[str, Any]:
    """Raises ValueError or BadRequestError for all but an object without repeated names."""
    if line.count(b'"') == QUOTES:
        # orjson is five times as fast as our parser, which alone notices repeated names.
        record = orjson.loads(line)
        if not isinstance(record, dict):
            raise LineProblem(NOT_JSON)
        return record
    strict = parse_object(line)
    if any(isinstance(part, JsonObject) and part.repeated for part in (strict, strict.get("from"), strict.get("to"))):
        raise LineProblem("repeated name")
    return strict


def _problems_of_line(line: bytes, rules: Mapping[str, Rule]) -> Iterator[LineProblem]:
    """All that is wrong with a line."""
    try:
        record = parse_object(line)
    except MalformedJsonError as error:
        place = f"see column {error.column}" if error.column else "nested too deeply"
        yield LineProblem(f"{NOT_JSON}: {place}")
    except BadRequestError:
        yield LineProblem(NOT_JSON)
    else:
        yield from _problems(record, rules)


def _problems(record: JsonObject, rules: Mapping[str, Rule], parent: str = "") -> Iterator[LineProblem]:
    """All that is wrong with an object. parent: the name that it is under."""
    prefix = f"{parent}." if parent else ""
    inside = f" in {parent}" if parent else ""
    yield from (LineProblem("is missing", f"{prefix}{name}", "required") for name in rules if name not in record)
    if unknown := sorted(record.keys() - rules.keys()):
        yield LineProblem(f"unknown name{inside}: {_quoted(unknown)}", code="unknown")
    if record.repeated:
        yield LineProblem(f"repeated name{inside}: {_quoted(sorted(record.repeated))}", code="duplicate")
    for name, rule in rules.items():
        value = record.get(name)
        if name in _SIDES and isinstance(value, JsonObject):
            yield from _problems(value, _SIDES[name], name)
        elif name in record:
            try:
                rule(value)
            except LineProblem as problem:
                yield problem


def _quoted(names: Sequence[str]) -> str:
    """Names as JSON in ASCII: they may contain line ends, or codes that a terminal obeys."""
    told = ", ".join(json.dumps(name[:NAME_LENGTH_IN_ERRORS]) for name in names[:MAX_NAMES])
    return f"{told} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else told


def text_rule(form: Form, field: str = "") -> Rule:
    """A rule that returns the value, if it is a text of this form."""
    is_of_form = form.pattern.fullmatch
    shortest, longest = form.lengths

    def rule(value: Any) -> str:
        if isinstance(value, str) and is_of_form(value):
            return value
        code = "type" if not isinstance(value, str) else "format" if shortest <= len(value) <= longest else "length"
        raise LineProblem(f"must be {form.description}", field, code)

    return rule


def _side_rule(field: str) -> Rule:
    rules = _SIDES[field]
    names, currency, amount = rules.keys(), rules["currency"], rules["amount"]

    def rule(value: Any) -> str:
        if not isinstance(value, dict) or value.keys() != names:
            raise LineProblem(NOT_A_SIDE, field, "type")
        return f"{currency(value['currency'])}\t{amount(value['amount'])}"

    return rule


def external_id_of(value: Any) -> str:
    """The externalId. Raises LineProblem."""
    try:
        return external_id(value)
    except ValidationError as problem:
        raise LineProblem(f"externalId: {problem.message}") from None


def _type(value: Any) -> str:
    if value != "conversion":
        raise LineProblem("must be conversion", "type", "notAllowed")
    return "conversion"


slug_of = text_rule(_SLUG, "partner")
_rate = text_rule(DECIMAL, "rate")


def rate_of(value: Any) -> str:
    """The rate's digits. Raises LineProblem."""
    rate = _rate(value)
    if not rate.strip("0."):
        raise LineProblem("must be more than zero", "rate", "range")
    return rate


def created_at_of(value: Any) -> datetime:
    """The time. Raises LineProblem."""
    if not isinstance(value, str):
        raise LineProblem("must be a string", "createdAt", "type")
    try:
        return parse_created_at(value)
    except ValueError as error:
        code = "range" if isinstance(error, TooLateError) else "format" if value else "length"
        raise LineProblem(str(error), "createdAt", code) from None


# The rules of a line, and of the objects in it, by name and in the order of COPY's columns.
_SIDES: Mapping[str, Mapping[str, Rule]] = {
    side: {
        "currency": text_rule(CURRENCY, f"{side}.currency"),
        "amount": text_rule(DECIMAL, f"{side}.amount"),
    }
    for side in ("from", "to")
}
_RULES: Mapping[str, Rule] = {
    "partner": slug_of,
    # A backslash is the only character that COPY escapes and that can occur, and only here.
    "externalId": lambda value: external_id_of(value).replace("\\", "\\\\"),
    "conversionId": text_rule(CONVERSION_ID, "conversionId"),
    "createdAt": lambda value: created_at_of(value).isoformat(),
    "type": _type,
    "from": _side_rule("from"),
    "to": _side_rule("to"),
    "rate": rate_of,
}
