"""The rules for each field of a user: contract, section 2. Each takes what JSON held and gives what is stored.

A rule raises Django's ValidationError with a message for people, which never repeats the value.
"""

import re
import unicodedata
from datetime import date, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import pycountry
from django.conf import settings
from django.core.exceptions import ValidationError
from email_validator import EmailNotValidError, validate_email

from partners.api.errors import FieldError

EXTERNAL_ID_LENGTH = 128
EMAIL_LENGTH = 254
EARLIEST_BIRTH = date(1900, 1, 1)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# Unicode categories Cc and Cs: control characters and lone surrogates.
_CONTROL_OR_SURROGATE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN_IDENTIFIER = re.compile(r"[!-.0-~]{1,128}")


def clean_text(value: Any) -> str:
    """A JSON string without control characters and lone surrogates, not stripped yet."""
    if not isinstance(value, str):
        raise ValidationError("Must be a string.")
    if _CONTROL_OR_SURROGATE.search(value):
        raise ValidationError("Must not hold control characters or lone surrogates.")
    return value


def text(value: Any, *, shortest: int, longest: int) -> str:
    """A string of so many code points, without the white space around it."""
    stripped = clean_text(value).strip()
    if len(stripped) < shortest:
        raise ValidationError("Must not be empty.")
    if len(stripped) > longest:
        raise ValidationError(f"Must be at most {longest} characters.")
    return stripped


def external_id(value: Any) -> str:
    """A partner's own identifier, exactly as sent."""
    given = clean_text(value)
    if not 1 <= len(given) <= EXTERNAL_ID_LENGTH:
        raise ValidationError(f"Must be 1 to {EXTERNAL_ID_LENGTH} characters.")
    if given in {".", ".."}:
        raise ValidationError("Must not be . or .., which are steps in a path.")
    if _PLAIN_IDENTIFIER.fullmatch(given):
        return given
    if "/" in given:
        raise ValidationError("Must not hold a slash.")
    if given[0].isspace() or given[-1].isspace():
        raise ValidationError("Must not begin or end with white space.")
    if any(c != " " and unicodedata.category(c)[0] not in "LMNPS" for c in given):
        raise ValidationError("Must be letters, marks, numbers, punctuation, symbols and plain spaces.")
    return given


def external_id_problems(value: str) -> list[FieldError]:
    """What is wrong with the externalId of a path, if anything."""
    try:
        external_id(value)
    except ValidationError as problem:
        return [FieldError("externalId", str(problem.message))]
    return []


def email(value: Any) -> str:
    """An address as email-validator normalises it; nothing is looked up."""
    given = text(value, shortest=1, longest=EMAIL_LENGTH)
    try:
        normalized = validate_email(given, check_deliverability=False).normalized
    except EmailNotValidError:
        raise ValidationError("Must be a valid email address.") from None
    if len(normalized) > EMAIL_LENGTH:
        raise ValidationError(f"Must be at most {EMAIL_LENGTH} characters.")
    return normalized


def date_of_birth(value: Any) -> date:
    """A real calendar date from 1900 to today, where compliance is."""
    given = clean_text(value).strip()
    try:
        born = date.fromisoformat(given) if _DATE.fullmatch(given) else None
    except ValueError:
        born = None
    if born is None:
        raise ValidationError("Must be a calendar date, YYYY-MM-DD.")
    if born < EARLIEST_BIRTH:
        raise ValidationError("Must not be before 1900-01-01.")
    if born > today():
        raise ValidationError("Must not be in the future.")
    return born


def country(value: Any) -> str:
    """The ISO 3166-1 alpha-2 code of a country, in upper case."""
    given = clean_text(value).strip()
    # Letters of other alphabets have an upper case of ASCII too: ß is not SS.
    if not given.isascii() or given.upper() not in _country_codes():
        raise ValidationError("Must be an ISO 3166-1 alpha-2 country code.")
    return given.upper()


def boolean(value: Any) -> bool:
    """JSON's true or false and nothing like it."""
    if not isinstance(value, bool):
        raise ValidationError("Must be true or false.")
    return value


def today() -> date:
    """The date where compliance is (COMPLIANCE_TIME_ZONE)."""
    return datetime.now(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()


@lru_cache(maxsize=1)
def _country_codes() -> frozenset[str]:
    return frozenset(entry.alpha_2 for entry in pycountry.countries)
