"""Reads settings that have a form of their own; a bad one stops the start, naming the variable and the mend."""

import re
import zoneinfo
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from partners.rates import parse_rate

Value = TypeVar("Value")

# What `.env.example` and tutorials hold, and what nobody may run a service with.
_PLACEHOLDERS = re.compile(r"change|example|insecure|secret|password|default", re.IGNORECASE)
_SECRET_LENGTH = 32
_DIFFERENT_CHARACTERS = 10


def required(name: str, value: Value | None, mend: str) -> Value:
    """The value, where there is one; raises ImproperlyConfigured with the mend where there is none."""
    if value is None or value == "":
        raise ImproperlyConfigured(f"{name} is not set: {mend}.")
    return value


def secret_setting(name: str, value: str, *, debug: bool) -> str:
    """A secret of the service; while `debug` is false a weak or example value raises ImproperlyConfigured."""
    mend = "set it to 50 random characters (`make install` writes such a value into .env)"
    required(name, value, mend)
    weak = len(value) < _SECRET_LENGTH or len(set(value)) < _DIFFERENT_CHARACTERS or _PLACEHOLDERS.search(value)
    if weak and not debug:
        raise ImproperlyConfigured(f"{name} holds a weak or example value: {mend}.")
    return value


def switch(name: str, value: str) -> bool:
    """Whether a setting is on: `true` or `false`. Raises ImproperlyConfigured for anything else."""
    if value.lower() not in {"true", "false"}:
        raise ImproperlyConfigured(f"{name} must be true or false.")
    return value.lower() == "true"


def staff_mfa_setting(value: str, *, debug: bool) -> bool:
    """STAFF_MFA_REQUIRED; raises ImproperlyConfigured where it is false while `debug` is."""
    required_ = switch("STAFF_MFA_REQUIRED", value)
    if not required_ and not debug:
        raise ImproperlyConfigured("STAFF_MFA_REQUIRED may be false only while DEBUG is true: remove it.")
    return required_


def whole_number(name: str, value: str, *, lowest: int, highest: int) -> int:
    """A whole number from `lowest` to `highest`; raises ImproperlyConfigured otherwise."""
    if not re.fullmatch(r"\d{1,9}", value, re.ASCII) or not lowest <= int(value) <= highest:
        raise ImproperlyConfigured(f"{name} must be a whole number from {lowest} to {highest}.")
    return int(value)


def rate_setting(name: str, value: str) -> str:
    """A rate such as `600/minute`; raises ImproperlyConfigured otherwise."""
    try:
        parse_rate(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error
    return value


def redis_setting(name: str, value: str) -> str:
    """A Redis URL, or the empty text; raises ImproperlyConfigured for anything else."""
    if value and not re.fullmatch(r"(rediss?://[^\s/]+(:\d+)?(/\d*)?|unix://\S+)(\?\S*)?", value):
        raise ImproperlyConfigured(f"{name} must be written like redis://host:6379/0 (rediss:// with TLS, or unix://).")
    return value


def time_zone_setting(name: str, value: str) -> str:
    """The name of an IANA time zone; raises ImproperlyConfigured otherwise."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ImproperlyConfigured(f"{name} must name an IANA time zone, such as America/Toronto.") from error
    return value
