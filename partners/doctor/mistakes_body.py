"""Mistakes in the sixth line of the canonical request, the body's digest: contract, section 3."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator

from partners import signing
from partners.doctor.findings import BODY, ERROR, Cause
from partners.doctor.mistakes import Mistake
from partners.doctor.sent import Sent
from partners.doctor.serialisation import serialised_again

# What the service takes at most: no larger body is tried in other forms.
LARGEST_BODY_BYTES = 65_536

_BOM = "\ufeff"
_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

Variants = Callable[[Sent], Iterable[bytes]]


def _digests_of(variants: Variants) -> Callable[[Sent], Iterator[str]]:
    """The lines that come of hashing other bytes than the body's."""

    def digests(sent: Sent) -> Iterator[str]:
        if len(sent.body) <= LARGEST_BODY_BYTES:
            yield from map(signing.body_digest, variants(sent))

    return digests


def _nothing(_: Sent) -> Iterator[bytes]:
    yield b""


def _placeholders(sent: Sent) -> Iterable[bytes]:
    return () if sent.body else (b"{}", b"null", b'""', b"undefined", b"None", b"[]", b" ", b"\n")


def _serialised_again(sent: Sent) -> Iterable[bytes]:
    return serialised_again(sent.body)


def _serialised_twice(sent: Sent) -> Iterator[bytes]:
    if sent.body_text:
        yield json.dumps(sent.body_text, ensure_ascii=False).encode()
        yield json.dumps(sent.body_text).encode()


def _other_end(sent: Sent) -> Iterator[bytes]:
    yield sent.body.rstrip(b"\r\n")
    yield sent.body + b"\n"
    yield sent.body + b"\r\n"
    yield sent.body.strip()


def _other_line_ends(sent: Sent) -> Iterator[bytes]:
    with_lf = sent.body.replace(b"\r\n", b"\n")
    yield with_lf.replace(b"\n", b"\r\n")
    yield with_lf
    yield with_lf.rstrip(b"\n").replace(b"\n", b"\r\n")
    yield with_lf.replace(b"\n", b"")


def _other_encoding(sent: Sent) -> Iterator[bytes]:
    if sent.body_text is None:
        return
    yield (_BOM + sent.body_text).encode()
    yield sent.body_text.removeprefix(_BOM).encode()
    for encoding in ("latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16"):
        yield sent.body_text.encode(encoding, errors="replace")


def _form_of_digest(sent: Sent) -> Iterator[bytes]:
    yield base64.b64encode(sent.body)
    yield signing.body_digest(sent.body).encode()
    yield hashlib.sha256(sent.body).digest()


def _upper_case(sent: Sent) -> Iterator[str]:
    yield sent.canonical_lines[BODY].upper()


def _base64(sent: Sent) -> Iterator[str]:
    digest = hashlib.sha256(sent.body).digest()
    for encoded in (base64.b64encode(digest).decode(), base64.urlsafe_b64encode(digest).decode()):
        yield encoded
        yield encoded.rstrip("=")
    yield base64.b64encode(sent.canonical_lines[BODY].encode()).decode()


def _left_out(_: Sent) -> Iterator[str]:
    yield ""


def _itself(sent: Sent) -> Iterator[str]:
    # It is shown: a key that stands in it is not to be.
    if sent.body_text and len(sent.body) <= LARGEST_BODY_BYTES and "psi_key_" not in sent.body_text:
        yield sent.body_text


def _is_body(sent: Sent, theirs: str) -> bool:
    return bool(sent.body) and theirs.replace("\r", "").strip() == (sent.body_text or "").replace("\r", "").strip()


def _other_function(sent: Sent) -> Iterator[str]:
    for name in ("sha1", "md5", "sha512", "sha384", "sha224", "sha3_256"):
        yield hashlib.new(name, sent.body, usedforsecurity=False).hexdigest()


def _no_digest(_: Sent, theirs: str) -> bool:
    return not _HEX_SHA256.fullmatch(theirs)


def _cause(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, BODY)


MISTAKES = (
    Mistake(
        _cause(
            "body-digest-upper-case",
            "The body's digest is in upper case",
            "The digest is the right one, but its hex digits are signed in lower case.",
            "Turn the digest into lower case before you sign.",
        ),
        _upper_case,
    ),
    Mistake(
        _cause(
            "body-digest-left-out",
            "The body's digest is missing",
            "Line 6 is empty; without a body it is the SHA-256 of no bytes, e3b0c442…b855.",
            "Hash the body always, also where it is empty.",
        ),
        _left_out,
    ),
    Mistake(
        _cause(
            "body-serialised-again",
            "The JSON is serialised again after or before signing",
            "The digest is of the same JSON in other bytes: with other spaces, another order or other escapes than"
            " what was sent.",
            "Serialise once, hash those bytes and send those bytes; hand your HTTP library bytes, not an object.",
        ),
        _digests_of(_serialised_again),
    ),
    Mistake(
        _cause(
            "body-not-hashed",
            "The digest is of an empty body",
            "Line 6 is the SHA-256 of no bytes, but the request was sent with a body.",
            "Hash the bytes that you send; mind a stream that was read to its end before.",
        ),
        _digests_of(_nothing),
    ),
    Mistake(
        _cause(
            "body-placeholder-hashed",
            "Something is hashed where there is no body",
            "The digest is of what stands for nothing in your language, such as {{}} or null, but no body was sent.",
            "Hash no bytes at all where there is no body.",
        ),
        _digests_of(_placeholders),
    ),
    Mistake(
        _cause(
            "body-end-differs",
            "The end of the body is not the same",
            "The digest is of the body with another end: a line feed more or fewer.",
            "Hash exactly the bytes that you send; look for a line feed that an editor, echo or a template adds.",
        ),
        _digests_of(_other_end),
    ),
    Mistake(
        _cause(
            "body-line-ends-differ",
            "The line ends of the body are not the same",
            "The digest is of the body with other line ends, CRLF for LF or the other way round.",
            "Hash and send the same bytes; open files in binary mode.",
        ),
        _digests_of(_other_line_ends),
    ),
    Mistake(
        _cause(
            "body-serialised-twice",
            "The JSON is serialised twice",
            "The digest is of the body as a JSON string, in quotation marks and with escapes.",
            "Hash the text that you send; do not serialise it once more.",
        ),
        _digests_of(_serialised_twice),
    ),
    Mistake(
        _cause(
            "body-encoded-otherwise",
            "The body is hashed in another encoding",
            "The digest is of the same text in other bytes than UTF-8, or with a byte order mark.",
            "Turn the body into UTF-8 once, without a mark, hash those bytes and send them.",
        ),
        _digests_of(_other_encoding),
    ),
    Mistake(
        _cause(
            "body-hashed-twice",
            "The digest is of something made from the body",
            "The body was encoded in Base64, or hashed, before it was hashed.",
            "Hash the bytes of the body itself, once.",
        ),
        _digests_of(_form_of_digest),
    ),
    Mistake(
        _cause(
            "body-digest-base64",
            "The body's digest is in Base64",
            "Line 6 is the digest in hex: 64 digits in lower case.",
            "Write the digest in hex.",
        ),
        _base64,
    ),
    Mistake(
        _cause(
            "body-itself",
            "The body stands there instead of its digest",
            "Line 6 is the SHA-256 of the body, not the body.",
            "Hash the bytes of the body, and sign the digest in hex.",
        ),
        _itself,
        _is_body,
    ),
    Mistake(
        _cause(
            "body-other-hash",
            "The body is hashed by another function",
            "The digest is of the right bytes, but by another function than SHA-256.",
            "Use SHA-256.",
        ),
        _other_function,
    ),
    Mistake(
        _cause(
            "body-digest-malformed",
            "Line 6 is no SHA-256",
            "The digest of the body has 64 hex digits and nothing else.",
            "Write the SHA-256 of the body in lower-case hex.",
        ),
        fits=_no_digest,
    ),
)

DIFFERENT = (
    _cause(
        "body-differs",
        "The digest is of another body",
        "The bytes that were hashed are not those that were sent, in no way that is known here.",
        "Log the bytes that you hash and those that you send, and compare them.",
    ),
)
