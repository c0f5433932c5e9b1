"""Imports: a line of NDJSON and the rules of its values, and the conversions that lines bring (docs/operations.md).

A batch of conversions is copied into a temporary table and inserted from there, also of those that sandbox partners
simulate. A conversion whose conversionId exists, from an earlier line, run or a concurrent run, is unchanged if it is
identical, and rejected otherwise.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from core.database import statements
from core.formats import parse_timestamp
from partners.api.errors import NAME_LENGTH_IN_ERRORS, BadRequestError
from partners.api.request import JsonObject, parse_object
from transactions.models import CONVERSION_ID_PATTERN, CURRENCY_PATTERN, EARLIEST
from users.profile.field_rules import external_id

# A conversion is about 400 bytes. Longer lines are not kept in memory.
MAX_LINE_BYTES = 64 * 1024
# How far a createdAt may be ahead of this machine's clock.
MAX_AHEAD = timedelta(minutes=5)
NOT_A_SIDE = "Must be an object of currency and amount."
DECIMAL_PATTERN = r"(0|[1-9]\d{0,19})(\.\d{1,18})?"

# The usual form, which the standard library parses in a quarter of the time.
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{6})?Z", re.ASCII)
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]", re.ASCII)

# Returns the value to store. Raises ValidationError, as core/json_rules.py says.
Rule = Callable[[Any], Any]


class LineError(ValueError):
    """What is wrong with a line, without its values."""


def parse_line(line: bytes) -> JsonObject:
    """The JSON object of a line. Raises LineError."""
    if len(line) > MAX_LINE_BYTES:
        raise LineError(f"longer than {MAX_LINE_BYTES} bytes, only its beginning was read")
    try:
        return parse_object(line)
    except BadRequestError:
        raise LineError("not a JSON object in UTF-8") from None


def values_of(record: JsonObject, rules: Mapping[str, Rule], optional: str = "", parent: str = "") -> dict[str, Any]:
    """The values of a JSON object. Raises LineError. optional: a name. parent: the object's own, with a point."""
    if record.keys() != rules.keys() or record.repeated:
        if missing := [name for name in rules if name not in record and name != optional]:
            raise LineError(f"{parent}{missing[0]}: This field is required.")
        for kind, names in (("unknown", record.keys() - rules.keys()), ("repeated", record.repeated)):
            if names:
                # As JSON in ASCII: a name may contain line ends, or codes that a terminal obeys.
                raise LineError(f"{parent}{json.dumps(min(names)[:NAME_LENGTH_IN_ERRORS])}: {kind} name")
    values = {}
    name = ""
    try:
        for name, value in record.items():
            values[name] = rules[name](value)
    except ValidationError as error:
        raise LineError(f"{parent}{name}: {error.message}") from None
    return values


def _text(pattern: str, description: str, shortest: int, longest: int) -> Callable[[Any], str]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def rule(value: Any) -> str:
        if isinstance(value, str) and matches(value):
            return value
        code = "type" if not isinstance(value, str) else "format" if shortest <= len(value) <= longest else "length"
        raise ValidationError(f"Must be {description}.", code=code)

    return rule


slug = _text("[a-z0-9-]{1,50}", "a partner's slug, such as acme", 1, 50)
conversion_id = _text(CONVERSION_ID_PATTERN, "1 to 64 of A-Z a-z 0-9 . - _, such as cnv-1", 1, 64)
currency = _text(CURRENCY_PATTERN, "3 to 10 upper-case letters or digits, such as CAD", 3, 10)
decimal = _text(
    DECIMAL_PATTERN,
    'a plain decimal string, with at most 20 digits before the point and 18 after, such as "100.00"',
    1,
    39,
)


def rate(value: Any) -> str:
    """The rate's digits. Raises ValidationError."""
    if not decimal(value).strip("0."):
        raise ValidationError("Must be more than zero.", code="range")
    return str(value)


def created_at(value: Any) -> datetime:
    """The time of a conversion or a document (contract, section 6). Raises ValidationError."""
    if not isinstance(value, str):
        raise ValidationError("Must be a string.", code="type")
    try:
        at = datetime.fromisoformat(value) if _USUAL.fullmatch(value) else parse_timestamp(value)
    except ValueError:
        message = "Must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z."
        raise ValidationError(message, code="format" if value else "length") from None
    if _FINER_THAN_MICROSECONDS.search(value):
        raise ValidationError("Must not be finer than microseconds.", code="format")
    if at < EARLIEST:
        raise ValidationError("Must not be before 0001-01-02T00:00:00Z.", code="range")
    if at > datetime.now(UTC) + MAX_AHEAD:
        raise ValidationError("Must not be more than five minutes ahead.", code="range")
    return at


# Conversions

UNKNOWN_PARTNER = "partner not found"
UNKNOWN_USER = "user not found"
OTHER_CONTENT = "a conversion with this conversionId and other content exists"
STATEMENT_SECONDS, LOCK_SECONDS = 300, 60

# Partner's slug, externalId, conversionId, createdAt, type, currency and amount of each side, rate.
Row = tuple[str, ...]

# Longer limits than those of requests. PostgreSQL has no statistics of a temporary table: it could plan to read all
# conversions, although an index lookup for each row is cheaper.
_SET_UP = """
    SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),
           set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
           set_config('enable_seqscan', 'off', true)
"""
_CREATE_STAGED = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_conversion (
        line bigint, partner text, external_id text, conversion_id text, created_at timestamptz, type text,
        from_currency text, from_amount text, to_currency text, to_amount text, rate text
    ) ON COMMIT DELETE ROWS
"""
_COPY = "COPY staged_conversion FROM STDIN"
# As a plain join, PostgreSQL may look users up by externalId alone, in the index of the staff's search: twice as slow,
# and more where partners use the same ones. With LIMIT it uses the index of both columns.
#
# Ordered by conversionId, so that two imports of the same lines wait for each other and do not deadlock, and by line,
# so that the first of several lines counts.
_INSERT = """
    INSERT INTO transactions_conversion (partner_id, user_id, is_sandbox, conversion_id, created_at, type,
                                         from_currency, from_amount, to_currency, to_amount, rate, while_inactive)
    SELECT p.id, u.id, u.is_sandbox, s.conversion_id, s.created_at, s.type, s.from_currency, s.from_amount::numeric,
           s.to_currency, s.to_amount::numeric, s.rate::numeric, u.status <> 'active'
      FROM staged_conversion s
      JOIN partners_partner p ON p.slug = s.partner
     CROSS JOIN LATERAL (SELECT id, is_sandbox, status FROM users_user
                          WHERE partner_id = p.id AND external_id = s.external_id LIMIT 1) AS u
     ORDER BY p.id, s.conversion_id, s.line
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
# The lines that differ from what is stored: whether their partner and user exist.
_MISMATCHES = """
    SELECT s.line, p.id IS NOT NULL, u.id IS NOT NULL
      FROM staged_conversion s
      LEFT JOIN partners_partner p ON p.slug = s.partner
      LEFT JOIN users_user u ON u.partner_id = p.id AND u.external_id = s.external_id
      LEFT JOIN transactions_conversion c ON c.partner_id = p.id AND c.conversion_id = s.conversion_id
     WHERE (c.user_id, c.created_at, c.type, c.from_currency, c.from_amount::text, c.to_currency,
            c.to_amount::text, c.rate::text)
           IS DISTINCT FROM
           (u.id, s.created_at, s.type, s.from_currency, s.from_amount, s.to_currency, s.to_amount, s.rate)
"""


def _type(value: Any) -> str:
    if value != "conversion":
        raise ValidationError("Must be conversion.", code="notAllowed")
    return "conversion"


def _side(value: Any, name: str) -> tuple[str, str]:
    if not isinstance(value, JsonObject):
        raise ValidationError(NOT_A_SIDE, code="type")
    values = values_of(value, _SIDE_RULES, parent=f"{name}.")
    return values["currency"], values["amount"]


_SIDE_RULES = {"currency": currency, "amount": decimal}
_RULES = {
    "partner": slug,
    "externalId": external_id,
    "conversionId": conversion_id,
    "createdAt": lambda value: created_at(value).isoformat(),
    "type": _type,
    "from": lambda value: _side(value, "from"),
    "to": lambda value: _side(value, "to"),
    "rate": rate,
}


def parse_conversion(line: bytes) -> Row:
    """The row of a line. Raises LineError."""
    value = values_of(parse_line(line), _RULES)
    head = (value["partner"], value["externalId"], value["conversionId"], value["createdAt"], value["type"])
    return (*head, *value["from"], *value["to"], value["rate"])


def store(
    rows: Mapping[int, Row],
    *,
    is_dry_run: bool = False,
    statement_seconds: int = STATEMENT_SECONDS,
    lock_seconds: int = LOCK_SECONDS,
) -> tuple[int, dict[int, str]]:
    """Store rows in one transaction: how many are new, and why others were rejected. The rest is unchanged."""
    # A backslash is the only character that COPY escapes and that can occur.
    lines = ["\t".join((str(number), *row)).replace("\\", "\\\\") for number, row in rows.items()]
    with statements.response_timeout(statement_seconds), transaction.atomic():
        statements.fetch_one(_SET_UP, (f"{statement_seconds}s", f"{lock_seconds}s"))
        statements.run(_CREATE_STAGED, ())
        with connection.wrap_database_errors, connection.connection.cursor().copy(_COPY) as copy:
            copy.write("\n".join([*lines, ""]))
        imported = statements.run(_INSERT, ())
        mismatches = statements.fetch_all(_MISMATCHES, ()) if imported < len(lines) else []
        if is_dry_run:
            transaction.set_rollback(True)
    return imported, {
        number: OTHER_CONTENT if user else UNKNOWN_USER if partner else UNKNOWN_PARTNER
        for number, partner, user in mismatches
    }
