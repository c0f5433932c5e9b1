"""What the body of a request shows by itself, with the headers of a write."""

import json
import re

from partners.doctor.checks import WRITES, Check, Clock, Groups
from partners.doctor.findings import BODY, ERROR, IDEMPOTENCY_KEY, NOTE, WARNING, Cause
from partners.doctor.mistakes import Verdict
from partners.doctor.mistakes_body import LARGEST_BODY_BYTES
from partners.doctor.sent import Sent

_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_CHARSET = re.compile(r"\s*+charset\s*+=\s*+\"?([^\"\s]*+)\"?\s*+", re.IGNORECASE)


def _key_empty(sent: Sent, _: Clock) -> Verdict:
    return "" in sent.values("Idempotency-Key")


def _key_no_uuid(sent: Sent, _: Clock) -> Verdict:
    return bool(sent.idempotency_key) and not _UUID.fullmatch(sent.idempotency_key)


def _key_without_write(sent: Sent, _: Clock) -> Verdict:
    return bool(sent.idempotency_key) and sent.method not in WRITES


def _no_content_type(sent: Sent, _: Clock) -> Verdict:
    return sent.method in WRITES and not sent.header("Content-Type")


def _other_content_type(sent: Sent, _: Clock) -> Verdict:
    media_type, *parameters = sent.header("Content-Type").lower().split(";")
    charsets = [found[1] for parameter in parameters if (found := _CHARSET.fullmatch(parameter))]
    is_json = media_type.strip() == "application/json" and {"utf-8", "utf8"}.issuperset(charsets)
    return sent.method in WRITES and not is_json


def _body_without_write(sent: Sent, _: Clock) -> Verdict:
    return bool(sent.body) and sent.method not in WRITES


def _body_too_large(sent: Sent, _: Clock) -> Verdict:
    return len(sent.body) > LARGEST_BODY_BYTES


def _body_has_mark(sent: Sent, _: Clock) -> Verdict:
    return sent.body.startswith(b"\xef\xbb\xbf")


def _body_no_json(sent: Sent, _: Clock) -> Verdict:
    if sent.method not in WRITES:
        return False
    try:
        json.loads(sent.body)
    except (ValueError, RecursionError):
        return True
    return False


def _body_ends_with_line_feed(sent: Sent, _: Clock) -> Verdict:
    return sent.body.endswith(b"\n")


def _body_in_lines(sent: Sent, _: Clock) -> Verdict:
    return sent.method in WRITES and b"\n" in sent.body


GROUPS: Groups = (
    (
        Check(
            Cause(
                "idempotency-key-empty",
                WARNING,
                "The Idempotency-Key is empty",
                "A header with nothing in it is a bad_request on a write; line 5 is empty either way.",
                "Send a UUID, or leave the header out.",
                IDEMPOTENCY_KEY,
            ),
            _key_empty,
        ),
        Check(
            Cause(
                "idempotency-key-not-uuid",
                WARNING,
                "The Idempotency-Key is no UUID",
                "It has to be a UUID in the form of 36 characters; anything else is a bad_request on a write.",
                "Send a UUID such as 3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10, without quotation marks.",
                IDEMPOTENCY_KEY,
            ),
            _key_no_uuid,
        ),
        Check(
            Cause(
                "idempotency-key-without-write",
                NOTE,
                "An Idempotency-Key only matters for POST and PATCH",
                "With another method it changes nothing, but it is signed as it is sent.",
                "Leave the header out, or sign it.",
                IDEMPOTENCY_KEY,
            ),
            _key_without_write,
        ),
    ),
    (
        Check(
            Cause(
                "content-type-missing",
                WARNING,
                "There is no Content-Type",
                "The service takes JSON only, and answers unsupported_media_type where that is not said.",
                "Send Content-Type: application/json.",
            ),
            _no_content_type,
        ),
        Check(
            Cause(
                "content-type-other",
                WARNING,
                "The Content-Type is not JSON in UTF-8",
                "The service takes application/json only; curl -d alone says that it sends a form.",
                "Send Content-Type: application/json.",
            ),
            _other_content_type,
        ),
    ),
    (
        Check(
            Cause(
                "body-without-write",
                WARNING,
                "A body is sent where none belongs",
                "The body is signed as it arrives, but many clients and proxies drop it with such a method.",
                "Send no body with GET, and hash no bytes.",
                BODY,
            ),
            _body_without_write,
        ),
        Check(
            Cause(
                "body-too-large",
                ERROR,
                "The body is too large",
                "It has more than 64 KiB, and is refused before the signature is checked.",
                "Send less.",
                BODY,
            ),
            _body_too_large,
        ),
        Check(
            Cause(
                "body-byte-order-mark",
                WARNING,
                "The body begins with a byte order mark",
                "Its three bytes, EF BB BF, are hashed with the body, and JSON is not to begin with them.",
                "Write the body as UTF-8 without a mark.",
                BODY,
            ),
            _body_has_mark,
        ),
        Check(
            Cause(
                "body-not-json",
                WARNING,
                "The body is no JSON",
                "A write needs a JSON object; what was pasted may have lost or gained characters.",
                "Paste the body exactly as it was sent.",
                BODY,
            ),
            _body_no_json,
        ),
        Check(
            Cause(
                "body-ends-with-line-feed",
                NOTE,
                "The body ends with a line feed",
                "It is hashed like every other byte; perhaps it only came with pasting.",
                "Take it away if you did not send it.",
                BODY,
            ),
            _body_ends_with_line_feed,
        ),
        Check(
            Cause(
                "body-in-lines",
                NOTE,
                "The body has several lines",
                "Spaces and line ends are hashed as they are sent, and pasting may have changed CRLF to LF.",
                "Hash the very bytes that you send; compact JSON avoids the question.",
                BODY,
            ),
            _body_in_lines,
        ),
    ),
)
