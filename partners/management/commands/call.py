import base64
import json
import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.client import NoResponseError, Reply, SignedClient, encode_target, split_base_url
from partners.management.base import Outcome, ServiceCommand

API_KEY, SECRET = "PSI_API_KEY", "PSI_SECRET"

_VISIBLE_ASCII = re.compile(r"[!-~]*")

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
            type=_checked(encode_target),
            help="with the query, such as /v1/ping; percent-encoded or not",
        )
        parser.add_argument("--api-key", type=_visible_ascii, metavar="K", help=f"default: ${API_KEY}")
        parser.add_argument("--secret", metavar="S", help=f"default: ${SECRET}")
        parser.add_argument("--base-url", type=_checked(_base_url), metavar="URL", help="default: HOST and PORT")
        parser.add_argument("--data", default="", metavar="JSON", help="the body")
        parser.add_argument("--idempotency-key", type=_visible_ascii, metavar="UUID", help="sent and signed unchanged")

    def perform(self, *, method: str, path: str, **options: Any) -> Outcome:
        api_key = options["api_key"] or os.environ.get(API_KEY, "")
        secret = options["secret"] or os.environ.get(SECRET, "")
        if not (api_key and secret):
            raise CommandError(f"Nothing to sign with: give --api-key and --secret, or set {API_KEY} and {SECRET}.")
        if not _VISIBLE_ASCII.fullmatch(api_key):
            raise CommandError(f"{API_KEY} contains invalid characters.")
        client = SignedClient(options["base_url"] or default_base_url(), api_key, secret)
        try:
            reply = client.send(method, path, options["data"].encode(), options["idempotency_key"])
        except NoResponseError as error:
            raise CommandError(str(error)) from error
        return _outcome(reply)


def default_base_url() -> str:
    """The URL of the service with these settings."""
    host = _CALLABLE.get(settings.HOST, settings.HOST)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def _outcome(reply: Reply) -> Outcome:
    data: dict[str, Any] = {"status": reply.status, "headers": dict(reply.headers)}
    status = f"{reply.status} {reply.reason}".rstrip()
    try:
        data["body"] = shown = reply.body.decode()
    except UnicodeDecodeError:
        data |= {"body": base64.b64encode(reply.body).decode(), "bodyEncoding": "base64"}
        shown = f"({len(reply.body)} bytes of {reply.header('Content-Type')}, not shown)"
    try:
        data["body"] = reply.json()
        shown = json.dumps(data["body"], indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass  # not JSON: shown unchanged
    return Outcome(data, [status, *([shown] if shown else [])])


def _method(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]+", text, re.ASCII):
        raise ArgumentTypeError("must be a method such as GET")
    return text.upper()


def _visible_ascii(text: str) -> str:
    if not _VISIBLE_ASCII.fullmatch(text):
        raise ArgumentTypeError("must be visible ASCII characters")
    return text


def _base_url(text: str) -> str:
    split_base_url(text)
    return text


def _checked(convert: Callable[[str], str]) -> Callable[[str], str]:
    """`convert` as a type for argparse, which hides the text of other errors than ArgumentTypeError."""

    def checked(text: str) -> str:
        try:
            return convert(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return checked
