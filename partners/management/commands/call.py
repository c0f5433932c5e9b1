import base64
import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from http.client import responses
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from psi import Client, PsiError, Response, canonical_request

API_KEY, SECRET = "PSI_API_KEY", "PSI_SECRET"

# What a request target must percent-encode (RFC 3986), a lone % included.
_TO_ENCODE = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")

# Addresses to listen on, and the ones to call.
_CALLABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what HOST may hold


class Command(ServiceCommand):
    help = (
        "Signs one request, sends it, and prints status and body. Pass the key and its secret in the"
        f" environment, as {API_KEY} and {SECRET}: others can see a command line. Exit status 0 for every response."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("method", metavar="METHOD", type=_method, help="such as GET")
        parser.add_argument(
            "path",
            metavar="PATH",
            type=encode_target,
            help="with the query, such as /v1/ping; percent-encoded or not",
        )
        parser.add_argument("--api-key", metavar="K", help=f"default: ${API_KEY}")
        parser.add_argument("--secret", metavar="S", help=f"default: ${SECRET}")
        parser.add_argument("--base-url", metavar="URL", help="default: HOST and PORT")
        parser.add_argument("--data", default="", metavar="JSON", help="the body")
        parser.add_argument(
            "--idempotency-key", type=_visible_ascii, metavar="UUID", default="", help="sent and signed unchanged"
        )

    def perform(self, *, method: str, path: str, **options: Any) -> Outcome:
        base_url = options["base_url"] or default_base_url()
        try:
            client = Client(base_url, options["api_key"], options["secret"])
            response = client.send(method, path, options["data"], options["idempotency_key"])
        except PsiError as error:
            raise CommandError(f"{base_url}: {error}") from error
        return _outcome(response)


def default_base_url() -> str:
    """The URL of the service with these settings."""
    host = _CALLABLE.get(settings.HOST, settings.HOST)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def encode_target(text: str) -> str:
    """Percent-encode a path with its query where needed. Raises ArgumentTypeError."""
    if not text.startswith("/"):
        raise ArgumentTypeError("the path must begin with a slash, such as /v1/ping")
    target = _TO_ENCODE.sub(lambda match: b"%%%02X" % match[0][0], text.encode()).decode()
    try:
        canonical_request("GET", target, "", "", b"")
    except UnicodeError:
        raise ArgumentTypeError("the path and the query, percent-decoded, must be UTF-8") from None
    return target


def _outcome(response: Response) -> Outcome:
    data: dict[str, Any] = {"status": response.status, "headers": dict(response.headers.items())}
    status = f"{response.status} {responses.get(response.status, '')}".rstrip()
    try:
        data["body"] = shown = response.body.decode()
    except UnicodeDecodeError:
        data |= {"body": base64.b64encode(response.body).decode(), "bodyEncoding": "base64"}
        shown = f"({len(response.body)} bytes of {response.headers['Content-Type']}, not shown)"
    try:
        data["body"] = response.json()
        shown = json.dumps(data["body"], indent=2, ensure_ascii=False)
    except PsiError:
        pass  # not JSON: shown unchanged
    return Outcome(data, [status, *([shown] if shown else [])])


def _method(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]+", text, re.ASCII):
        raise ArgumentTypeError("must be a method such as GET")
    return text.upper()


def _visible_ascii(text: str) -> str:
    if not re.fullmatch(r"[!-~]*", text):
        raise ArgumentTypeError("must be visible ASCII characters")
    return text
