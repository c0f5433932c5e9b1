import json
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, responses
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from django.conf import settings
from django.core.management.base import CommandError

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from partners.authentication.signatures import NotUtf8Error, canonical_request, sign

API_KEY, SECRET = "PSI_API_KEY", "PSI_SECRET"
_NO_URL = "--base-url is no URL such as https://partners.example"

# What a request target must percent-encode (RFC 3986), a lone % included.
_TO_ENCODE = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")


def encode_target(text: str) -> str:
    """Percent-encode a path with its query where needed. Raises ArgumentTypeError."""
    if not text.startswith("/"):
        raise ArgumentTypeError("the path must begin with a slash, such as /v1/ping")
    target = _TO_ENCODE.sub(lambda match: b"%%%02X" % match[0][0], text.encode()).decode()
    try:
        path, _, query = target.partition("?")
        canonical_request("GET", unquote_to_bytes(path), query.encode(), "", "", b"")
    except NotUtf8Error:
        raise ArgumentTypeError("the path and the query, percent-decoded, must be UTF-8") from None
    return target


def _form(pattern: str, what: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ArgumentTypeError(f"must be {what}")
        return text

    return checked


class Command(ServiceCommand):
    help = (
        "Signs one request, sends it, and prints status and body. Pass the key and its secret in the"
        f" environment, as {API_KEY} and {SECRET}: others can see a command line. Exit status 0 for every response."
    )
    arguments = (
        Argument("method", metavar="METHOD", type=_form("[A-Za-z]+", "a method such as GET"), help="such as GET"),
        Argument(
            "path", metavar="PATH", type=encode_target, help="with the query, such as /v1/ping; percent-encoded or not"
        ),
        Argument("--api-key", metavar="K", help=f"default: ${API_KEY}"),
        Argument("--secret", metavar="S", help=f"default: ${SECRET}"),
        Argument("--base-url", metavar="URL", help="default: HOST and PORT"),
        Argument("--data", default="", metavar="JSON", help="the body"),
        Argument(
            "--idempotency-key",
            type=_form("[!-~]*", "visible ASCII characters"),
            metavar="UUID",
            default="",
            help="sent and signed unchanged",
        ),
    )

    def perform(self, *, path: str, base_url: str | None, data: str, idempotency_key: str, **given: Any) -> Outcome:
        # The path of the base URL is sent, not signed.
        base_url, body, method = base_url or default_base_url(), data.encode(), given["method"].upper()
        if not re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/[^?#\s]*)?", base_url, re.ASCII):
            raise CommandError(_NO_URL)
        api_key, secret = _credential(API_KEY, given["api_key"]), _credential(SECRET, given["secret"])
        timestamp, (signed, _, query) = datetime.now(UTC).isoformat(), path.partition("?")
        canonical = canonical_request(
            method, unquote_to_bytes(signed), query.encode(), timestamp, idempotency_key, body
        )
        headers = {
            "X-Api-Key": api_key,
            "X-Request-Timestamp": timestamp,
            "X-Request-Signature": sign(secret, canonical),
            **({"Idempotency-Key": idempotency_key} if idempotency_key else {}),
            **({"Content-Type": "application/json"} if method in {"POST", "PATCH"} else {}),
        }
        try:
            url = urlsplit(base_url)
            connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
            with closing(connect(url.hostname or "", url.port, timeout=30)) as connection:
                connection.request(method, url.path.rstrip("/") + path, body or None, headers)
                response = connection.getresponse()
                return _outcome(response, response.read())
        except (OSError, HTTPException) as error:
            raise CommandError(f"{base_url}: no response: {error or type(error).__name__}") from error
        except ValueError as error:
            raise CommandError(_NO_URL) from error


def _credential(name: str, given: str | None) -> str:
    value = (given or os.environ.get(name, "")).strip()
    if not re.fullmatch(r"[!-~]+", value):
        raise CommandError(f"{name} {'has characters that do not belong there' if value else 'is not set'}")
    return value


def default_base_url() -> str:
    """The URL of the service with these settings."""
    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    return f"http://{host}:{settings.PORT}"


def _outcome(response: HTTPResponse, body: bytes) -> Outcome:
    data: dict[str, Any] = {"status": response.status, "headers": dict(response.headers.items())}
    status = f"{response.status} {responses.get(response.status, '')}".rstrip()
    try:
        data["body"] = json.loads(body)
        shown = json.dumps(data["body"], indent=2, ensure_ascii=False)
    except ValueError:  # a document, or a proxy's page
        data["body"] = shown = f"({len(body)} bytes of {response.headers['Content-Type']}, not shown)" if body else ""
    return Outcome(data, [status, *([shown] if shown else [])])
