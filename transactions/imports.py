"""Imports: a line of NDJSON and the rules of its values, and the conversions that lines bring (docs/operations.md).

A batch of conversions is copied into a temporary table and inserted from there, also of those that sandbox partners
simulate. A conversion whose conversionId exists, from an earlier line, run or a concurrent run, is unchanged if it is
identical, and rejected otherwise.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from core.database import statements
from core.formats.rfc_3339 import parse_timestamp
from partners.api.errors import NAME_LENGTH_IN_ERRORS, BadRequestError
from partners.api.json import JsonObject, MalformedJsonError, parse_object
from transactions.models import CONVERSION_ID_PATTERN, CURRENCY_PATTERN
from users.profile.field_rules import external_id

# A conversion is about 400 bytes. Longer lines are not kept in memory.
MAX_LINE_BYTES = 64 * 1024
# How far a createdAt may be ahead of this machine's clock.
MAX_AHEAD = timedelta(minutes=5)
NOT_A_SIDE = "must be an object of currency and amount"
NOT_JSON = "not a JSON object in UTF-8"

# The usual form, which the standard library parses in a quarter of the time.
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{6})?Z", re.ASCII)
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]", re.ASCII)

Rule = Callable[[Any], Any]


class LineError(ValueError):
    """What is wrong with a line or a value, without the value.

    field: the one concerned, such as from.amount; empty for the line as a whole. code: of the contract, section 12.
    """

    def __init__(self, problem: str, field: str = "", code: str = "format") -> None:
        super().__init__(f"{field} {problem}" if field else problem)
        self.problem, self.field, self.code = problem, field, code


class Form(NamedTuple):
    """The form of a text. lengths: from the shortest to the longest."""

    pattern: re.Pattern[str]
    description: str
    lengths: tuple[int, int]


_SLUG = Form(re.compile(r"[a-z0-9-]{1,50}", re.ASCII), "a partner's slug, such as acme", (1, 50))
CONVERSION_ID = Form(re.compile(CONVERSION_ID_PATTERN), "1 to 64 of A-Z a-z 0-9 . - _, such as cnv-1", (1, 64))
CURRENCY = Form(re.compile(CURRENCY_PATTERN), "3 to 10 upper-case letters or digits, such as CAD", (3, 10))
DECIMAL = Form(
    re.compile(r"(0|[1-9]\d{0,19})(\.\d{1,18})?", re.ASCII),
    'a plain decimal string, with at most 20 digits before the point and 18 after, such as "100.00"',
    (1, 39),
)


def parse_record(line: bytes, rules: Mapping[str, Rule], optional: AbstractSet[str] = frozenset()) -> dict[str, Any]:
    """The values of a line, by name and as the rules return them. Raises LineError for the first problem.

    optional: the names that may be absent.
    """
    return values_of(parse_line(line), rules, optional)


def parse_line(line: bytes) -> JsonObject:
    """The JSON object of a line. Raises LineError."""
    if len(line) > MAX_LINE_BYTES:
        raise LineError(f"longer than {MAX_LINE_BYTES} bytes")
    try:
        return parse_object(line)
    except MalformedJsonError as error:
        place = f"see column {error.column}" if error.column else "nested too deeply"
        raise LineError(f"{NOT_JSON}: {place}") from None
    except BadRequestError:
        raise LineError(NOT_JSON) from None


def values_of(
    record: JsonObject, rules: Mapping[str, Rule], optional: AbstractSet[str] = frozenset(), parent: str = ""
) -> dict[str, Any]:
    """The values of a JSON object with these names. parent: the name that it is under. Raises LineError."""
    if record.keys() != rules.keys() or record.repeated:
        prefix, inside = (f"{parent}.", f" in {parent}") if parent else ("", "")
        if missing := [name for name in rules if name not in record and name not in optional]:
            raise LineError("is missing", prefix + missing[0], "required")
        for kind, names in (("unknown", record.keys() - rules.keys()), ("repeated", record.repeated)):
            if names:
                # As JSON in ASCII: a name may contain line ends, or codes that a terminal obeys.
                raise LineError(f"{kind} name{inside}: {json.dumps(min(names)[:NAME_LENGTH_IN_ERRORS])}")
    return {name: rules[name](value) for name, value in record.items()}


def text_rule(form: Form, field: str = "") -> Callable[[Any], str]:
    """A rule that returns the value, if it is a text of this form."""
    is_of_form = form.pattern.fullmatch
    shortest, longest = form.lengths

    def rule(value: Any) -> str:
        if isinstance(value, str) and is_of_form(value):
            return value
        code = "type" if not isinstance(value, str) else "format" if shortest <= len(value) <= longest else "length"
        raise LineError(f"must be {form.description}", field, code)

    return rule


def side_rule(field: str) -> Callable[[Any], tuple[str, str]]:
    """A rule that returns the currency and the amount of `from` or `to`."""
    rules = {"currency": text_rule(CURRENCY, f"{field}.currency"), "amount": text_rule(DECIMAL, f"{field}.amount")}

    def rule(value: Any) -> tuple[str, str]:
        if not isinstance(value, JsonObject):
            raise LineError(NOT_A_SIDE, field, "type")
        values = values_of(value, rules, parent=field)
        return values["currency"], values["amount"]

    return rule


def json_rule(field: str, rule: Rule) -> Rule:
    """A rule that applies one of core/formats/json_rules.py or users/profile/field_rules.py."""

    def checked(value: Any) -> Any:
        try:
            return rule(value)
        except ValidationError as error:
            raise LineError(f"{field}: {error.message}") from None

    return checked


external_id_of = json_rule("externalId", external_id)
slug_of = text_rule(_SLUG, "partner")
_rate = text_rule(DECIMAL, "rate")


def rate_of(value: Any) -> str:
    """The rate's digits. Raises LineError."""
    rate = _rate(value)
    if not rate.strip("0."):
        raise LineError("must be more than zero", "rate", "range")
    return rate


def created_at_of(value: Any) -> datetime:
    """The time of a conversion or a document (contract, section 6). Raises LineError."""
    if not isinstance(value, str):
        raise LineError("must be a string", "createdAt", "type")
    try:
        created_at = datetime.fromisoformat(value) if _USUAL.fullmatch(value) else parse_timestamp(value)
    except ValueError:
        problem = "must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z"
        raise LineError(problem, "createdAt", "format" if value else "length") from None
    if _FINER_THAN_MICROSECONDS.search(value):
        raise LineError("is finer than microseconds", "createdAt")
    if created_at > datetime.now(UTC) + MAX_AHEAD:
        raise LineError("must not be more than five minutes ahead", "createdAt", "range")
    return created_at


# Conversions

UNKNOWN_PARTNER = "partner not found"
UNKNOWN_USER = "user not found"
OTHER_CONTENT = "a conversion with this conversionId and other content exists"
STATEMENT_SECONDS, LOCK_SECONDS = 300, 60

# A number of the caller's, partner's slug, externalId, conversionId, createdAt, type, currency and amount of each side,
# rate.
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
        raise LineError("must be conversion", "type", "notAllowed")
    return "conversion"


# By name, in the order of the temporary table's columns.
_RULES = {
    "partner": slug_of,
    "externalId": external_id_of,
    "conversionId": text_rule(CONVERSION_ID, "conversionId"),
    "createdAt": lambda value: created_at_of(value).isoformat(),
    "type": _type,
    "from": side_rule("from"),
    "to": side_rule("to"),
    "rate": rate_of,
}


def parse_conversion(number: int, line: bytes) -> Row:
    """The row of a line. number: of the line. Raises LineError."""
    value = parse_record(line, _RULES)
    head = (value["partner"], value["externalId"], value["conversionId"], value["createdAt"], value["type"])
    return (str(number), *head, *value["from"], *value["to"], value["rate"])


def store(
    rows: Iterable[Row],
    *,
    is_dry_run: bool = False,
    statement_seconds: int = STATEMENT_SECONDS,
    lock_seconds: int = LOCK_SECONDS,
) -> tuple[int, dict[int, str]]:
    """Store rows in one transaction: how many are new, and why others were rejected, by their numbers.

    The rest is unchanged. is_dry_run: roll the transaction back. Raises Django's database errors.
    """
    # A backslash is the only character that COPY escapes and that can occur.
    lines = ["\t".join(row).replace("\\", "\\\\") for row in rows]
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
