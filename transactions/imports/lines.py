"""Lines of imports: one conversion each, as JSON (docs/operations.md)."""

import re
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.core.exceptions import ValidationError

from partners.api.errors import BadRequestError
from partners.api.json import JsonObject, parse_object
from transactions import patterns
from transactions.timestamps import TooLateError, parse_created_at
from users.services.field_rules import external_id

FIELDS = frozenset({"partner", "externalId", "conversionId", "createdAt", "type", "from", "to", "rate"})
SIDE_FIELDS = frozenset({"currency", "amount"})
# The quotes of 12 names and 10 strings. With more, a name may be repeated.
QUOTES = 44
# A conversion is about 400 bytes. Longer lines are not kept in memory.
MAX_LINE_BYTES = 64 * 1024


class Form(NamedTuple):
    """The form of a text. lengths: from the shortest to the longest."""

    pattern: re.Pattern[str]
    description: str
    lengths: tuple[int, int]


_SLUG = Form(re.compile(r"[a-z0-9-]{1,50}", re.ASCII), "a partner's slug", (1, 50))
CONVERSION_ID = Form(re.compile(patterns.CONVERSION_ID), "1 to 64 of A-Z a-z 0-9 . - _", (1, 64))
CURRENCY = Form(re.compile(patterns.CURRENCY), "3 to 10 upper-case letters or digits", (3, 10))
DECIMAL = Form(
    re.compile(patterns.DECIMAL, re.ASCII),
    "a plain decimal string, with at most 20 digits before the point and 18 after",
    (1, 39),
)
NOT_A_SIDE = "must be an object of currency and amount"


class LineProblem(ValueError):  # noqa: N818 - a finding about the input, not an error of the program
    """Why a line is rejected, without its content.

    field: the one concerned, such as from.amount; empty for the line as a whole. code: of section 12.
    """

    def __init__(self, problem: str, field: str = "", code: str = "format") -> None:
        super().__init__(f"{field} {problem}" if field else problem)
        self.problem, self.field, self.code = problem, field, code


def parse_line(line: bytes) -> str:
    """The values of a line in COPY's text format, after its number (staging.py). Raises LineProblem."""
    if len(line) > MAX_LINE_BYTES:
        raise LineProblem(f"longer than {MAX_LINE_BYTES} bytes")
    record = _object(line)
    if record.keys() != FIELDS:
        raise LineProblem(_wrong_names(record.keys()))
    source, target = _side(record["from"], "from"), _side(record["to"], "to")
    if record["type"] != "conversion":
        raise LineProblem("must be conversion", "type", "notAllowed")
    rate = rate_of(record["rate"])
    values = (
        matching(record["partner"], "partner", _SLUG),
        # A backslash is the only character that COPY escapes and that can occur, and only here.
        _external_id(record["externalId"]).replace("\\", "\\\\"),
        matching(record["conversionId"], "conversionId", CONVERSION_ID),
        created_at_of(record["createdAt"]).isoformat(),
        "conversion",
        *source,
        *target,
        rate,
    )
    return "\t".join(values)


def _object(line: bytes) -> dict[str, Any]:
    try:
        # orjson is five times as fast as our parser, which alone notices repeated names.
        record = orjson.loads(line) if line.count(b'"') == QUOTES else _strict(line)
    except (orjson.JSONDecodeError, BadRequestError):
        raise LineProblem("not a JSON object in UTF-8") from None
    if not isinstance(record, dict):
        raise LineProblem("not a JSON object in UTF-8")
    return record


def _strict(line: bytes) -> dict[str, Any]:
    record = parse_object(line)
    for part in (record, record.get("from"), record.get("to")):
        if isinstance(part, JsonObject) and part.repeated:
            raise LineProblem("a name is repeated")
    return record


def _wrong_names(names: Any) -> str:
    missing, unknown = sorted(FIELDS - names), len(names - FIELDS)
    return "; ".join([f"{name} is missing" for name in missing] + ([f"unknown names: {unknown}"] if unknown else []))


def _side(value: Any, name: str) -> tuple[str, str]:
    if not isinstance(value, dict) or value.keys() != SIDE_FIELDS:
        raise LineProblem(NOT_A_SIDE, name, "type")
    return (
        matching(value["currency"], f"{name}.currency", CURRENCY),
        matching(value["amount"], f"{name}.amount", DECIMAL),
    )


def _external_id(value: Any) -> str:
    try:
        return external_id(value)
    except ValidationError as problem:
        raise LineProblem(f"externalId: {problem.message}") from None


def matching(value: Any, name: str, form: Form) -> str:
    """The value, if it is a text of this form. Raises LineProblem."""
    if isinstance(value, str) and form.pattern.fullmatch(value):
        return value
    shortest, longest = form.lengths
    code = "type" if not isinstance(value, str) else "format" if shortest <= len(value) <= longest else "length"
    raise LineProblem(f"must be {form.description}", name, code)


def rate_of(value: Any) -> str:
    """The rate's digits. Raises LineProblem."""
    rate = matching(value, "rate", DECIMAL)
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
