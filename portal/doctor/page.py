"""The signature doctor's page: the pasted texts, and their diagnosis. Nothing is stored."""

import json
import unicodedata
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from django.template.loader import render_to_string

from partners.authentication.keys import SECRET_PREFIXES
from partners.models import KEY_PREFIXES, Mode
from partners.signing import signatures
from partners.signing.causes import LINES
from partners.signing.diagnosis import diagnose
from portal.doctor import request_by_id
from portal.guide import example_files

MAX_BYTES = 256 * 1024
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
# Has the form of a key, but was never issued.
_EXAMPLE_KEY = KEY_PREFIXES[Mode.LIVE] + ("example-" * 6)[:43]
_SYMBOLS = {" ": "␠", "\t": "␉", "\r": "␍", "\0": "␀"}

NO_SUCH_REQUEST = (
    "No request has this id whose partner has this secret. Those of sandbox keys are kept for 24 hours, the last 100 of"
    " a partner; the secret has to be that of a key in force."
)

# A diagnosis takes some milliseconds of a thread that serves partners too: one at a time.
diagnosing = Lock()


class InvalidQuestionError(Exception):
    """The texts cannot be read; the message says why. status: of the response."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Question(NamedTuple):
    """What is asked about: a request and the canonical request of its program, or a request's id and a test secret."""

    pasted: str = ""
    canonical: str = ""
    request_id: str = ""
    secret: str = ""


NO_QUESTION = Question()


def read(request: HttpRequest) -> Question:
    """Return what a form or a JSON object asks. Raises InvalidQuestionError."""
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if not declared.isdecimal() or len(declared) > 9 or int(declared) > MAX_BYTES:  # noqa: PLR2004 - digits enough
        raise InvalidQuestionError(f"The texts are larger than {MAX_BYTES // 1024} KiB.", status=413)
    if request.content_type not in {FORM, JSON}:
        raise InvalidQuestionError(f"Send {JSON} or {FORM}.", status=415)
    try:
        fields = json.loads(request.body) if request.content_type == JSON else request.POST
        names = ("request", "canonicalRequest", "requestId", "secret")
        question = Question(*(fields.get(name) or "" for name in names))
    except (ValueError, AttributeError, RecursionError):
        raise InvalidQuestionError("The texts cannot be decoded.", status=400) from None
    if not all(isinstance(text, str) for text in question) or not (question.pasted + question.request_id).strip():
        raise InvalidQuestionError("There is no request: paste one.", status=400)
    if request.content_type == FORM:
        # A browser sends each line end of a form's field as CRLF.
        return Question(*(text.replace("\r\n", "\n") for text in question))
    return question


def diagnose_one(pasted: str, canonical: str) -> dict[str, Any]:
    """Return the diagnosis. Raises NotUnderstoodError, and InvalidQuestionError during another diagnosis."""
    if not diagnosing.acquire(blocking=False):
        raise InvalidQuestionError("The doctor is busy: try again in a moment.", status=503)
    try:
        return diagnose(pasted, canonical, clock_skew_seconds=settings.CLOCK_SKEW_SECONDS).as_json()
    finally:
        diagnosing.release()


def look_up(question: Question) -> dict[str, Any]:
    """Return the request with this id. Raises InvalidQuestionError, also during another diagnosis."""
    secret = question.secret.strip()
    if secret.startswith(SECRET_PREFIXES[Mode.LIVE]):
        raise InvalidQuestionError("This is not a test secret: since it was exposed, rotate that key.", status=400)
    if not diagnosing.acquire(blocking=False):
        raise InvalidQuestionError("The doctor is busy: try again in a moment.", status=503)
    try:
        found = request_by_id.find(question.request_id.strip(), secret)
    except (DatabaseError, InterfaceError):
        raise InvalidQuestionError("Requests cannot be looked up now: try again in a moment.", status=503) from None
    finally:
        diagnosing.release()
    if found is None:
        raise InvalidQuestionError(NO_SUCH_REQUEST, status=404)
    return found


def page(
    question: Question = NO_QUESTION,
    *,
    diagnosis: dict[str, Any] | None = None,
    found: dict[str, Any] | None = None,
    message: str = "",
) -> str:
    """Render the page. question: what is in the forms. found: the request of an id. message: why there is no result."""
    pasted, canonical, request_id, _ = question
    context = {
        "here": "doctor",
        "markdown": "doctor",
        "pasted": pasted,
        "canonical": canonical,
        "message": "" if request_id else message,
        "request_id": request_id,
        "by_id_message": message if request_id else "",
        "found": found,
        "result": diagnosis and _result(diagnosis, canonical),
        "example": _example(),
        "max_kib": MAX_BYTES // 1024,
    }
    return render_to_string("docs/doctor.html", context)


def _result(diagnosis: dict[str, Any], canonical: str) -> dict[str, Any]:
    candidates = list(diagnosis["candidates"])
    if canonical and canonical not in {one["canonicalRequest"] for one in candidates}:
        candidates.append(
            {"cause": "pasted", "title": "Your canonical request, as pasted", "canonicalRequest": canonical}
        )
    titles = {line.name: line.title for line in LINES}
    return diagnosis | {
        "compared": bool(canonical),
        "lines": [_line(number, line, titles) for number, line in enumerate(diagnosis["lines"], start=1)],
        "findings": [one | {"lineTitle": titles.get(one["line"], "")} for one in diagnosis["findings"]],
        # The page has them as JSON: HTML would turn their carriage returns into line feeds.
        "candidates": [one | {"json": json.dumps(one["canonicalRequest"])} for one in candidates],
    }


def _line(number: int, line: dict[str, Any], titles: dict[str, str]) -> dict[str, Any]:
    offset, theirs = line["firstDifference"], line["theirs"]
    sides = {"ours": _side(line["ours"], offset), "theirs": None if theirs is None else _side(theirs, offset)}
    return line | sides | {"number": number, "title": titles[line["name"]]}


def _side(text: str, offset: int | None) -> dict[str, Any]:
    """Split a text at the character of the first byte that differs. offset: of that byte, in UTF-8.

    character: the same in words, for people who cannot see the mark.
    """
    if offset is None:
        return {"before": text}
    before = text.encode()[:offset].decode(errors="ignore")
    mark, after = text[len(before) : len(before) + 1], text[len(before) + 1 :]
    if not mark:
        character = "the end of the line"
    elif mark in _SYMBOLS:
        mark = _SYMBOLS[mark]
        character = f"“{mark}”"
    elif unicodedata.category(mark)[0] in "CZ":
        mark = character = f"U+{ord(mark):04X}"
    else:
        character = f"“{mark}”" + ("" if mark.isascii() else f" (U+{ord(mark):04X})")
    return {"before": before, "mark": mark, "after": after, "character": character, "marked": True}


def _example() -> dict[str, Any]:
    """Return a request with a decoded query in its signature, made from the published vectors."""
    published = json.loads(example_files.VECTORS.read_bytes())
    vector = next(one for one in published["vectors"] if unquote(one["query"]) != one["query"])
    lines = vector["canonicalRequest"].split("\n")
    lines[2] = unquote(lines[2])
    canonical = "\n".join(lines)
    return {
        "vector": vector,
        "api_key": _EXAMPLE_KEY,
        "canonical": canonical,
        "signature": signatures.sign(published["secret"], canonical),
        "secret": published["secret"],
    }
