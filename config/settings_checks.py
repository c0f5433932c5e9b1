"""Reads settings that have a form of their own; a bad one stops the start, naming the variable and the mend."""

import ipaddress
import re
import zoneinfo
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

from partners.api.rates import parse_rate

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
    if value != value.strip():
        raise ImproperlyConfigured(f"{name} has spaces around a value: remove them.")
    weak = len(value) < _SECRET_LENGTH or len(set(value)) < _DIFFERENT_CHARACTERS or _PLACEHOLDERS.search(value)
    if weak and not debug:
        raise ImproperlyConfigured(f"{name} holds a weak or example value: {mend}.")
    return value


def secret_list(name: str, values: Sequence[str], *, debug: bool) -> list[str]:
    """Secrets, newest first; raises ImproperlyConfigured for one that `secret_setting` refuses, or that is repeated."""
    if len(set(values)) < len(values):
        raise ImproperlyConfigured(f"{name} holds one value twice: remove the second.")
    return [secret_setting(name, value, debug=debug) for value in values]


def require_different(secrets: Mapping[str, Sequence[str]]) -> None:
    """Raises ImproperlyConfigured where two settings share a secret: each then falls with the other."""
    seen: dict[str, str] = {}
    for name, values in secrets.items():
        for value in values:
            if seen.setdefault(value, name) != name:
                raise ImproperlyConfigured(f"{name} holds a value of {seen[value]}: set it to another one.")


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


_HOST_NAME = r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*"


def listen_setting(name: str, value: str) -> str:
    """An IP address or a host name to listen on; raises ImproperlyConfigured otherwise."""
    if not _is_address(value) and not re.fullmatch(rf"{_HOST_NAME}(?<![.\d])", value, re.ASCII):
        raise ImproperlyConfigured(f"{name} must be an address to listen on, such as 127.0.0.1 or 0.0.0.0.")
    return value


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def hosts_setting(name: str, values: list[str], *, debug: bool) -> list[str]:
    """Host names, `.example.com` with all below it; raises ImproperlyConfigured for what names none, or every one.

    Without any, while `debug` is false, nobody gets to the pages of staff.
    """
    mend = "set it to the names of the service's host, such as partners.example.com"
    if not debug:
        required(name, values or None, mend)
    for value in values:
        if not re.fullmatch(rf"\.?{_HOST_NAME}|\[[0-9A-Fa-f:.]+\]", value, re.ASCII):
            raise ImproperlyConfigured(f"{name} takes host names without scheme, port and *: {mend}.")
    return values


def origins_setting(name: str, values: list[str], *, debug: bool) -> list[str]:
    """Origins such as `https://partners.example.com`, all of them https while `debug` is false.

    Raises ImproperlyConfigured otherwise.
    """
    scheme = "https?" if debug else "https"
    for value in values:
        if not re.fullmatch(rf"{scheme}://((\*\.)?{_HOST_NAME}|\[[0-9A-Fa-f:.]+\])(:\d{{1,5}})?", value, re.ASCII):
            raise ImproperlyConfigured(f"{name} takes origins such as https://partners.example.com, without a path.")
    return values


def require_two_roles(serving: Mapping[str, Any], owner: Mapping[str, Any], *, debug: bool) -> None:
    """Raises ImproperlyConfigured where the service would run as the owner of the schema while `debug` is false."""
    if not debug and serving["USER"] == owner["USER"]:
        raise ImproperlyConfigured(
            "OWNER_DATABASE_URL names the role of DATABASE_URL: set DATABASE_URL to the URL of a role of its own,"
            " which setup_database_roles creates."
        )
