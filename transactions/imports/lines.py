"""A line of an import: one conversion as JSON (docs/operations.md), checked to the last digit."""

import re
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.core.exceptions import ValidationError

from partners.api.errors import BadRequestError
from partners.api.json import JsonObject, parse_object
from partners.authentication.signing import parse_timestamp
from transactions.models import LATEST
from users.services.field_rules import external_id

FIELDS = frozenset({"partner", "externalId", "conversionId", "createdAt", "type", "from", "to", "rate"})
SIDE_FIELDS = frozenset({"currency", "amount"})
TYPES = frozenset({"conversion"})
# Keys and values of a line without escapes: 12 names and 10 strings. With more of them, a name may stand twice.
QUOTES = 44
# A conversion is some 400 bytes; what is longer is none, and is not kept in memory to find out.
LONGEST_LINE_BYTES = 64 * 1024

_SLUG = re.compile(r"[a-z0-9-]{1,50}", re.ASCII)
_CONVERSION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_CURRENCY = re.compile(r"[A-Z0-9]{3,10}", re.ASCII)
# Plain notation without sign, needless leading zero or exponent: contract, section 6.
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?", re.ASCII)
# As most programs write it, which is read in a quarter of the time.
_USUAL_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{6})?Z", re.ASCII)
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]", re.ASCII)


class LineProblem(ValueError):  # noqa: N818 - a finding about the input, not an error of the program
    """Why a line is rejected; it never repeats what the line holds."""


class ImportedConversion(NamedTuple):
    """What a line says. Numbers are text, with the digits as given."""

    partner: str
    external_id: str
    conversion_id: str
    created_at: datetime
    type: str
    from_currency: str
    from_amount: str
    to_currency: str
    to_amount: str
    rate: str


def parse_line(line: bytes) -> ImportedConversion:
    """The conversion that a line describes. Raises LineProblem."""
    if len(line) > LONGEST_LINE_BYTES:
        raise LineProblem(f"longer than {LONGEST_LINE_BYTES} bytes")
    record = _object(line)
    if record.keys() != FIELDS:
        raise LineProblem(_difference(record.keys()))
    source, target = _side(record["from"], "from"), _side(record["to"], "to")
    kind = _text(record["type"], "type")
    if kind not in TYPES:
        raise LineProblem("type is not one of: " + ", ".join(sorted(TYPES)))
    rate = _decimal(record["rate"], "rate")
    if not rate.strip("0."):
        raise LineProblem("rate must be more than zero")
    return ImportedConversion(
        _matching(_SLUG, record["partner"], "partner", "a partner's slug"),
        _external_id(record["externalId"]),
        _matching(_CONVERSION_ID, record["conversionId"], "conversionId", "1 to 64 of A-Z a-z 0-9 - _ ."),
        _instant(record["createdAt"]),
        kind,
        *source,
        *target,
        rate,
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        # Five times as fast as the parser that can see a name given twice; that one is asked where one may be.
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
            raise LineProblem("a name is given more than once")
    return record


def _difference(names: Any) -> str:
    missing, unknown = sorted(FIELDS - names), len(names - FIELDS)
    return "; ".join([f"{name} is missing" for name in missing] + ([f"{unknown} unknown names"] if unknown else []))


def _side(value: Any, name: str) -> tuple[str, str]:
    if not isinstance(value, dict) or value.keys() != SIDE_FIELDS:
        raise LineProblem(f"{name} must be an object of currency and amount")
    currency = _matching(_CURRENCY, value["currency"], f"{name}.currency", "3 to 10 upper-case letters or digits")
    return currency, _decimal(value["amount"], f"{name}.amount")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise LineProblem(f"{name} must be a string")
    return value


def _external_id(value: Any) -> str:
    try:
        return external_id(value)
    except ValidationError as problem:
        raise LineProblem(f"externalId: {problem.message}") from None


def _matching(form: re.Pattern[str], value: Any, name: str, wanted: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise LineProblem(f"{name} must be {wanted}")
    return value


def _decimal(value: Any, name: str) -> str:
    return _matching(_DECIMAL, value, name, "a plain decimal string, 20 digits before the point and 18 after at most")


def _instant(value: Any) -> datetime:
    text = _text(value, "createdAt")
    try:
        moment = datetime.fromisoformat(text) if _USUAL_INSTANT.fullmatch(text) else parse_timestamp(text)
    except ValueError:
        raise LineProblem("createdAt must be an RFC 3339 date-time") from None
    if _FINER_THAN_MICROSECONDS.search(text):
        raise LineProblem("createdAt is finer than microseconds")
    if moment >= LATEST:
        raise LineProblem("createdAt is later than can be written in every time zone")
    return moment
