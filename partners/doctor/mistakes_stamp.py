"""Mistakes in lines 4 and 5 of the canonical request, time and Idempotency-Key, which are signed as they are sent."""

import re
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from partners import signing
from partners.doctor.findings import ERROR, IDEMPOTENCY_KEY, TIMESTAMP, Cause, counted
from partners.doctor.mistakes import Mistake, Verdict
from partners.doctor.sent import Sent

_FORMATS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f")
_NOTHING = ("null", "None", "undefined", "nil", "-")


def instant(text: str) -> datetime | None:
    """When a timestamp says that it is; None where it is none."""
    try:
        return signing.parse_timestamp(text)
    except ValueError:
        return None


def _reformatted(sent: Sent) -> Iterator[str]:
    signed_at = instant(sent.timestamp)
    if signed_at is None:
        return
    seconds, micros = (signed_at.strftime(form) for form in _FORMATS)
    for text in (seconds, micros[:-3], micros):
        yield f"{text}Z"
        yield f"{text}+00:00"
    yield seconds.replace("T", " ")
    yield seconds


def _is_of_same_second(sent: Sent, theirs: str) -> bool:
    ours, other = instant(sent.timestamp), instant(theirs)
    if ours is None or other is None:
        return False
    return ours.replace(microsecond=0) == other.replace(microsecond=0)


def _unix(sent: Sent) -> Iterator[str]:
    signed_at = instant(sent.timestamp)
    if signed_at is not None:
        yield str(int(signed_at.timestamp()))
        yield str(int(signed_at.timestamp() * 1000))


def _is_number(_: Sent, theirs: str) -> bool:
    return bool(re.fullmatch(r"\d{9,19}(?:\.\d+)?", theirs, re.ASCII))


def _is_of_another_moment(sent: Sent, theirs: str) -> Verdict:
    ours, other = instant(sent.timestamp), instant(theirs)
    if ours is None or other is None or ours == other:
        return False
    return {
        "off": counted(abs((other - ours).total_seconds()), "second"),
        "way": "later" if other > ours else "earlier",
    }


def _other_case(sent: Sent) -> Iterator[str]:
    yield sent.idempotency_key.lower()
    yield sent.idempotency_key.upper()


def _other_form(sent: Sent) -> Iterator[str]:
    if key := sent.idempotency_key:
        yield key.replace("-", "")
        yield f"{{{key}}}"
        yield f"urn:uuid:{key}"


def _is_same_uuid(sent: Sent, theirs: str) -> bool:
    try:
        return UUID(sent.idempotency_key) == UUID(theirs)
    except ValueError:
        return False


def _key_left_out(_: Sent) -> Iterator[str]:
    yield ""


def _word_for_nothing(sent: Sent) -> Iterator[str]:
    if not sent.idempotency_key:
        yield from _NOTHING


def _is_not_sent(sent: Sent, theirs: str) -> bool:
    return not sent.idempotency_key and bool(theirs.strip())


def _timestamp(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, TIMESTAMP)


def _key(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, IDEMPOTENCY_KEY)


MISTAKES = (
    Mistake(
        _timestamp(
            "timestamp-reformatted",
            "The timestamp is written in another way",
            "Line 4 and X-Request-Timestamp name the same second in other text; the header is signed as it is sent.",
            "Write the timestamp once, and use that text for both.",
        ),
        _reformatted,
        _is_of_same_second,
    ),
    Mistake(
        _timestamp(
            "timestamp-signed-as-number",
            "The timestamp is signed as a number",
            "Line 4 counts seconds or milliseconds; it is the text of X-Request-Timestamp.",
            "Sign the header's text.",
        ),
        _unix,
        _is_number,
    ),
    Mistake(
        _timestamp(
            "timestamp-of-another-moment",
            "Another moment was signed than was sent",
            "Line 4 is {off} {way} than X-Request-Timestamp, as if the clock had been asked twice.",
            "Ask the clock once, and use that text for both.",
        ),
        fits=_is_of_another_moment,
    ),
    Mistake(
        _key(
            "idempotency-key-case",
            "The key's letter case was changed",
            "Idempotency-Key is signed exactly as it is sent, in its own letter case.",
            "Sign the header's text as it is.",
        ),
        _other_case,
    ),
    Mistake(
        _key(
            "idempotency-key-left-out",
            "The Idempotency-Key is not signed",
            "The request was sent with a key, but line 5 is empty.",
            "Sign the key in line 5; mind a library that adds the header by itself.",
        ),
        _key_left_out,
    ),
    Mistake(
        _key(
            "idempotency-key-word",
            "Line 5 holds a word for nothing",
            "No Idempotency-Key was sent, and line 5 is what your language writes for that, such as null.",
            "Leave line 5 empty where there is no key.",
        ),
        _word_for_nothing,
        lambda sent, theirs: not sent.idempotency_key and theirs in _NOTHING,
    ),
    Mistake(
        _key(
            "idempotency-key-not-sent",
            "The Idempotency-Key was signed, but not sent",
            "Line 5 holds a key, and the request has no header Idempotency-Key.",
            "Send the key that you sign; look whether something on the way takes the header out.",
        ),
        fits=_is_not_sent,
    ),
    Mistake(
        _key(
            "idempotency-key-reformatted",
            "The Idempotency-Key is written in another way",
            "Line 5 and the header are the same UUID in different text; the header is signed as it is sent.",
            "Write the key once, and use that text for both.",
        ),
        _other_form,
        _is_same_uuid,
    ),
)

DIFFERENT = (
    _timestamp(
        "timestamp-differs",
        "Line 4 is not the timestamp",
        "Line 4 is the text of X-Request-Timestamp, character by character.",
        "Sign the header's text.",
    ),
    _key(
        "idempotency-key-differs",
        "Another Idempotency-Key was signed than was sent",
        "Line 5 is the text of Idempotency-Key, character by character.",
        "Make the key once for each request, and use it for both.",
    ),
)
