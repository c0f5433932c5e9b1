"""What the signature doctor is asked: a form's fields or a JSON object, small, and read into nothing but memory."""

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from django.http import HttpRequest

LARGEST_BYTES = 256 * 1024
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
_FIELDS = ("request", "canonicalRequest")
# A form holds as many as the page's; more is no form of this page.
_MOST_FIELDS = 10


class QuestionRefusedError(Exception):
    """The question cannot be read; its text says why, for people. status: of the answer."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Question:
    """A request as sent, or the curl command, and the canonical request that its sender built, if given."""

    request: str = field(repr=False)
    canonical: str | None = field(repr=False)


def wants_json(request: HttpRequest) -> bool:
    """Whether a program asks: it sends JSON and is answered in JSON."""
    return request.content_type == JSON


def read(request: HttpRequest) -> Question:
    """The question that a POST holds. Raises QuestionRefusedError."""
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if not declared.isdecimal() or len(declared) > 9 or int(declared) > LARGEST_BYTES:  # noqa: PLR2004 - digits enough
        raise QuestionRefusedError(f"The question is larger than {LARGEST_BYTES // 1024} KiB.", status=413)
    if request.content_type not in {FORM, JSON}:
        raise QuestionRefusedError(f"Send {JSON} or {FORM}.", status=415)
    try:
        values = _json_fields(request.body) if wants_json(request) else _form_fields(request.body)
    except (ValueError, RecursionError):
        raise QuestionRefusedError("The question is not well-formed.", status=400) from None
    asked, canonical = (values.get(name) or "" for name in _FIELDS)
    if not asked.strip():
        raise QuestionRefusedError("Paste a request: there is none.", status=400)
    return Question(asked, canonical or None)


def _json_fields(body: bytes) -> dict[str, str | None]:
    values = json.loads(body)
    if not isinstance(values, dict) or any(not isinstance(values.get(name) or "", str) for name in _FIELDS):
        raise ValueError("not an object of texts")
    return values


def _form_fields(body: bytes) -> dict[str, str | None]:
    pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    # A browser sends each line of a form's field with CRLF, whatever it was.
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
