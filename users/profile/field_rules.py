"""The rules for each field of a user, from a JSON value to the value to store: contract, section 2.

A rule raises Django's ValidationError with a message for people, which never repeats the value.
"""

import calendar
import re
import unicodedata
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pycountry
from django.conf import settings
from django.core.exceptions import ValidationError
from email_validator import EmailNotValidError, validate_email

from core.json_rules import NOT_VISIBLE, clean_text, has_visible_character, text

EXTERNAL_ID_LENGTH = 128
NOT_STRIPPED = "Must not begin or end with white space."
EMAIL_LENGTH = 254
EARLIEST_BIRTH = date(1900, 1, 1)
ADULT_YEARS = 18
COUNTRY_CODES = frozenset(country.alpha_2 for country in pycountry.countries)
# What a partner is told shows a right value.
NOT_AN_EMAIL = "Must be an email address of a public domain, such as name@example.com."
NOT_A_DATE = "Must be a calendar date, YYYY-MM-DD, such as 1985-01-31."

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PLAIN_IDENTIFIER = re.compile(r"[!-.0-~]{1,128}")


def external_id(value: Any) -> str:
    """A partner's own identifier, exactly as sent."""
    identifier = clean_text(value)
    if not 1 <= len(identifier) <= EXTERNAL_ID_LENGTH:
        raise ValidationError(f"Must be 1 to {EXTERNAL_ID_LENGTH} characters.", code="length")
    if identifier in {".", ".."}:
        raise ValidationError("Must not be . or .., which are path segments.", code="format")
    if _PLAIN_IDENTIFIER.fullmatch(identifier):
        return identifier
    if "/" in identifier:
        raise ValidationError("Must not contain a slash: use another character, such as a hyphen.", code="format")
    if identifier[0].isspace() or identifier[-1].isspace():
        raise ValidationError(NOT_STRIPPED, code="format")
    if any(c != " " and unicodedata.category(c)[0] not in "LMNPS" for c in identifier):
        message = "Must be letters, marks, numbers, punctuation, symbols and plain spaces, such as cust-1001."
        raise ValidationError(message, code="format")
    if not has_visible_character(identifier):
        raise ValidationError(NOT_VISIBLE, code="format")
    return identifier


def email(value: Any) -> str:
    """An address as email-validator normalises it, without a DNS lookup."""
    address = text(value, shortest=1, longest=EMAIL_LENGTH)
    try:
        normalized = validate_email(address, check_deliverability=False).normalized
    except EmailNotValidError:
        raise ValidationError(NOT_AN_EMAIL, code="format") from None
    if len(normalized) > EMAIL_LENGTH:
        raise ValidationError(f"Must be at most {EMAIL_LENGTH} characters.", code="length")
    return normalized


def date_of_birth(value: Any) -> date:
    """A calendar date from 1900 to today."""
    return calendar_date(value, latest=today())


def calendar_date(value: Any, *, latest: date = date.max) -> date:
    """A calendar date from 1900 on. latest: today, where it must not be in the future."""
    written = clean_text(value).strip()
    try:
        found = date.fromisoformat(written) if _DATE.fullmatch(written) else None
    except ValueError:
        found = None
    if found is None:
        raise ValidationError(NOT_A_DATE, code="format" if written else "length")
    if found < EARLIEST_BIRTH:
        raise ValidationError("Must not be before 1900-01-01.", code="range")
    if found > latest:
        raise ValidationError("Must not be in the future.", code="range")
    return found


def country(value: Any) -> str:
    """The ISO 3166-1 alpha-2 code of a country, in upper case."""
    code = clean_text(value).strip()
    # Some letters outside ASCII have an upper case in ASCII: ß is not SS.
    if not code.isascii() or code.upper() not in COUNTRY_CODES:
        raise ValidationError(
            "Must be an ISO 3166-1 alpha-2 country code, such as CA.", code="notAllowed" if code else "length"
        )
    return code.upper()


def boolean(value: Any) -> bool:
    """JSON's true or false."""
    if not isinstance(value, bool):
        raise ValidationError("Must be true or false.", code="type")
    return value


def today() -> date:
    """The date in COMPLIANCE_TIME_ZONE."""
    return datetime.now(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()


def midnight(day: date) -> datetime:
    """The beginning of a day in COMPLIANCE_TIME_ZONE."""
    return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))


def adult_on(born: date) -> date:
    """The 18th birthday."""
    return _birthday(born, born.year + ADULT_YEARS)


def age_in_years(born: date, *, on: date) -> int:
    """The age on a day."""
    return on.year - born.year - (on < _birthday(born, on.year))


def _birthday(born: date, year: int) -> date:
    """The birthday in a year; for a birth on 29 February, 1 March of a common year."""
    if (born.month, born.day) == (2, 29) and not calendar.isleap(year):
        return date(year, 3, 1)
    return born.replace(year=year)
