"""Types of settings for django-environ. They raise ValueError with what to set, never with the value."""

import base64
import json
import re
import ssl
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import environ
import psycopg
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from core.formats import parse_rate, parse_whole_number
from staff.roles import DUTIES

SET_SECRET = "set it to 50 random characters (`make install` writes such a value into .env)."  # noqa: S105 - a text
_HOST_NAME = r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*"
_IPV6 = r"\[[0-9A-Fa-f:.]+\]"
# With `sub` it is stored, and part of a cache's key.
_ISSUER_LENGTH = 150
_SECRET_LENGTH = 32
_ED25519_BYTES = 32
_DIFFERENT_CHARACTERS = 10
# libpq's parameters that do not change the service's time limits and sessions.
_DATABASE_PARAMETERS = {
    "channel_binding": re.compile("disable|prefer|require"),
    "sslmode": re.compile("disable|allow|prefer|require|verify-ca|verify-full"),
    **dict.fromkeys(("sslcert", "sslcrl", "sslkey", "sslrootcert"), re.compile(".*", re.DOTALL)),
    "target_session_attrs": re.compile("any|read-write|primary"),
}
_SET_DATABASE = (
    "set it to the URL of a PostgreSQL database: postgresql://user@host/name, with the password percent-encoded, or of"
    " several hosts: postgresql://user@host1:5432,host2:5432/name. Its parameters may be libpq's host,"
    f" {', '.join(_DATABASE_PARAMETERS)}."
)
# Django's settings and libpq's parameters.
_DATABASE_KEYS = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
_SET_STORAGE = (
    "set it to file:///absolute/folder, or to s3://bucket/prefix with the parameters region, endpoint (https://host,"
    " percent-encoded) and encryption (AES256 or aws:kms) as needed. S3 credentials come from AWS's own variables."
)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"(/(?!\.\.?(/|\Z))[A-Za-z0-9!_.*'()-]+)*/?", re.ASCII)
_BUCKET_PARAMETERS = {
    "region": re.compile(r"[a-z0-9-]{1,40}", re.ASCII),
    "endpoint": re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?", re.ASCII),
    "encryption": re.compile(r"AES256|aws:kms"),
}
_EXAMPLES = re.compile(r"change|example|insecure|secret|password|default", re.IGNORECASE)


class Env(environ.Env):  # type: ignore[misc]  # it has no types
    """django-environ, whose errors are ImproperlyConfigured and name the variable but not its value."""

    def get_value(self, var: str, cast: Any = None, default: Any = None, parse_default: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Return the value as it is written: django-environ takes one with `$` first for another variable's name."""
        value = self.ENVIRON.get(var, default)
        if value == default and not parse_default:
            return value
        # django-environ reads any other text as false.
        require(cast is not bool or str(value).lower() in {"true", "false"}, f"{var}: set it to true or false.")
        try:
            return self.parse_value(value, cast)
        except ValueError as error:
            raise ImproperlyConfigured(f"{var}: {error}") from None


def require(condition: object, message: str) -> None:
    """Raise ImproperlyConfigured unless `condition` is true. message: the variable, a colon, and what to set."""
    if not condition:
        raise ImproperlyConfigured(message)


def matching(pattern: str, message: str) -> Callable[[str], str]:
    """Return the type of a text that matches `pattern` as a whole."""

    def cast(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(message)
        return value

    return cast


# `.example.com` includes all names below it.
host_name = matching(
    rf"\.?{_HOST_NAME}|{_IPV6}", "set it to host names without scheme, port and *, such as partners.example.com."
)


def origin(scheme: str) -> Callable[[str], str]:
    """Return the type of an origin. scheme: a regular expression."""
    pattern = rf"{scheme}://((\*\.)?{_HOST_NAME}|{_IPV6})(:\d{{1,5}})?"
    return matching(pattern, "set it to origins such as https://partners.example.com, without a path.")


def issuer(scheme: str) -> Callable[[str], str]:
    """Return the type of an issuer of OpenID Connect, but Entra's for all tenants, by which anybody could sign in."""
    for_all = r"(?i:https://login\.microsoftonline\.\w+/(common|organizations|consumers)(/|$))"
    pattern = rf"(?=.{{1,{_ISSUER_LENGTH}}}$)(?!{for_all}){scheme}://({_HOST_NAME}|{_IPV6})(:\d{{1,5}})?(/[\w./~%-]*)?"
    example = "such as https://login.example.com/realms/staff (https, no query; of Entra, with the id of your tenant)"
    return matching(pattern, f"set it to the issuer of the provider's discovery document, {example}.")


def staff_roles(value: str) -> dict[str, str]:
    """Return roles of staff by the group's name: of `group=role,group=role`, or of a JSON object for any names."""
    if value.startswith("{"):
        try:
            pairs = json.loads(value, object_pairs_hook=list)
        except ValueError:
            pairs = [("", "")]
    else:
        pairs = [pair.rpartition("=")[::2] for pair in value.split(",")]
    roles = {str(group).strip(): str(role).strip() for group, role in pairs}
    # A superuser's flag is in no directory.
    if len(roles) < len(pairs) or "" in roles or not DUTIES.keys() >= set(roles.values()):
        form = 'group=role,group=role, or to JSON such as {"group, with a comma": "role"}'
        raise ValueError(f"set it to {form}; each group once, roles: {', '.join(DUTIES)}.")
    return roles


# A value of `amr` or `acr`, which may be a URI.
claim_value = matching(r"[\w.:/#-]+", "set it to values of `amr` or `acr`, such as mfa,otp.")


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return the type of a whole number in a range, both ends included."""
    return partial(parse_whole_number, lowest=lowest, highest=highest)


def secret(value: str, *, debug: bool) -> str:
    """Return a secret; unless `debug`, refuse weak and example values."""
    if not value:
        raise ValueError(f"not set; {SET_SECRET}")
    if value != value.strip():
        raise ValueError("remove the spaces around the value.")
    weak = len(value) < _SECRET_LENGTH or len(set(value)) < _DIFFERENT_CHARACTERS or _EXAMPLES.search(value)
    if weak and not debug:
        raise ValueError(f"weak or example value; {SET_SECRET}")
    return value


def rate(value: str) -> str:
    """Return a rate limit such as `600/minute`."""
    parse_rate(value)
    return value


def time_zone(value: str) -> str:
    """Return the name of an IANA time zone."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("set it to an IANA time zone, such as America/Toronto.") from None
    return value


def certificates(value: str) -> str:
    """Return the path of a PEM file with certificates of authorities."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        trust.load_verify_locations(value)
    except OSError:  # ssl.SSLError is one
        raise ValueError("set it to a readable PEM file of certificates.") from None
    if not trust.cert_store_stats()["x509"]:
        raise ValueError("the file has no certificate; set it to a PEM file of certificates.")
    return value


def ed25519_private_key(value: str) -> Ed25519PrivateKey | None:
    r"""Return a key from PEM (also with `\n` for line feeds), or base64 of DER or its 32 bytes; None for no text."""
    if not value:
        return None
    with suppress(ValueError, TypeError, UnsupportedAlgorithm):
        if value.lstrip().startswith("-----BEGIN"):
            key = load_pem_private_key(value.replace("\\n", "\n").encode(), password=None)
        else:
            content = base64.b64decode(value, validate=True)
            is_raw = len(content) == _ED25519_BYTES
            key = Ed25519PrivateKey.from_private_bytes(content) if is_raw else load_der_private_key(content, None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise ValueError("set it to an Ed25519 private key without a password, as PEM or base64.")


# An address of IPv6, or a host name, which one of IPv4 looks like.
listen_address = matching(
    rf"[0-9A-Fa-f]*:[0-9A-Fa-f:]*|{_HOST_NAME}", "set it to an address to listen on, such as 127.0.0.1 or 0.0.0.0."
)


def redis_url(value: str) -> str:
    """Return the URL of a Redis."""
    import redis  # noqa: PLC0415 - most processes need none

    with suppress(ValueError, TypeError, AttributeError, redis.RedisError):
        # Connects nowhere.
        redis.ConnectionPool.from_url(value).make_connection()
        if urlsplit(value).port != 0 and not re.search(r"\s", value):
            return value
    raise ValueError("set it to redis://host:6379/0 (rediss:// for TLS, or unix://), percent-encoded.")


def _fit(parameters: Iterable[tuple[str, str]], patterns: Mapping[str, re.Pattern[str]]) -> bool:
    return all(name in patterns and patterns[name].fullmatch(value) for name, value in parameters)


def database(url: str) -> dict[str, Any]:
    """Return a PostgreSQL URL, of one host or several, as an entry of DATABASES, without ENGINE."""
    parameters: dict[str, Any] = {}
    if url.startswith(("postgres://", "postgresql://")):
        with suppress(psycopg.ProgrammingError):  # its text can hold a part of the password
            parameters = conninfo_to_dict(url)
    config: dict[str, Any] = {key: parameters.pop(name, "") for key, name in _DATABASE_KEYS.items()}
    hosts, ports = config["HOST"], config["PORT"]
    are_ports = re.fullmatch(r"[\d,]*", ports, re.ASCII) and ports.count(",") in {0, hosts.count(",")}
    if not config["NAME"] or not are_ports or "@" in hosts or not _fit(parameters.items(), _DATABASE_PARAMETERS):
        raise ValueError(_SET_DATABASE)
    if "," in hosts:
        parameters.setdefault("target_session_attrs", "read-write")
    return config | {"OPTIONS": parameters}


def document_storage(url: str, *, default: Path | None) -> dict[str, Any]:
    """Return DOCUMENT_STORAGE_URL, or `default`, as an entry of STORAGES."""
    try:
        parts = urlsplit(url or (default.as_uri() if default else ""))
    except ValueError:
        raise ValueError(_SET_STORAGE) from None
    folder, beside = Path(unquote(parts.path)), parts.netloc or parts.query or parts.fragment
    is_own_folder = folder.is_absolute() and folder != Path("/") and ".." not in folder.parts
    if parts.scheme == "file" and not beside and is_own_folder:
        # Readable by the service's account only.
        options = {"location": str(folder), "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "transactions.documents.folder.DocumentFolder", "OPTIONS": options}
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    given = dict(pairs)
    is_bucket = parts.scheme == "s3" and _BUCKET.fullmatch(parts.netloc) and _PREFIX.fullmatch(parts.path)
    if not is_bucket or parts.fragment or len(given) < len(pairs) or not _fit(pairs, _BUCKET_PARAMETERS):
        raise ValueError(_SET_STORAGE)
    bucket: dict[str, Any] = {"bucket_name": parts.netloc, "location": parts.path.strip("/")}
    bucket |= {"region_name": given.get("region"), "endpoint_url": given.get("endpoint")}
    if "encryption" in given:
        bucket["object_parameters"] = {"ServerSideEncryption": given["encryption"]}
    return {"BACKEND": "transactions.documents.bucket.DocumentBucket", "OPTIONS": bucket}
