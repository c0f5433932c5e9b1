"""The causes of a refusal in words, and the findings that name them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypedDict


class Part(NamedTuple):
    """A part of a request. remedy: of causes that have none of their own. name, title: of a canonical line."""

    rule: str
    remedy: str
    name: str = ""
    title: str = ""


LINES = (
    Part("The method in upper case.", "Sign the method that you send, in upper case.", "method", "Method"),
    Part(
        "The path from /v1 on: percent-decode it, then percent-encode every byte except A-Z a-z 0-9 - . _ ~ /,"
        " with upper-case hex digits.",
        "Build line 2 from the path of the URL that you send.",
        "path",
        "Path",
    ),
    Part(
        "The query: decode names and values (+ is a space), percent-encode them as the path but with / too, sort the"
        " pairs by name and then by value, join them as name=value with &. Empty if there is no query.",
        "Build line 3 from the query of the URL that you send.",
        "query",
        "Query",
    ),
    Part(
        "X-Request-Timestamp exactly as sent, an RFC 3339 date-time with Z or an offset.",
        "Read the clock once, in UTC like 2026-01-15T10:30:00Z, and use that text for the header and for line 4.",
        "timestamp",
        "Timestamp",
    ),
    Part(
        "Idempotency-Key exactly as sent. Empty if there is no key.",
        "Make one UUID of 36 characters for each operation, and use that text for the header and for line 5.",
        "idempotencyKey",
        "Idempotency key",
    ),
    Part(
        "The SHA-256 of the body's bytes in lower-case hex; of zero bytes if there is no body.",
        "Serialise the body to bytes once, hash those bytes and send those bytes.",
        "bodySha256",
        "Body digest",
    ),
)
METHOD, PATH, QUERY, TIMESTAMP, IDEMPOTENCY_KEY, BODY = range(len(LINES))
CANONICAL_REQUEST = Part(
    "The canonical request has six lines in UTF-8, joined by one line feed, with nothing before or after.",
    "Join the six lines with \\n, the empty ones too, and sign nothing else.",
)


class Level(StrEnum):
    """The severity of a finding: it explains a refusal, may lead to one, or is information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Cause(NamedTuple):
    """A mistake in words. remedy: "" for that of the part."""

    level: Level
    title: str
    remedy: str


class Finding(TypedDict):
    """A cause that applies to a request. line: the name of the line in question; None if there is no single one."""

    cause: str
    level: Level
    title: str
    explanation: str
    remedy: str
    line: str | None


# Whether a cause applies; a text is its explanation.
Verdict = bool | str


def finding(code: str, part: Part = CANONICAL_REQUEST, explanation: str = "") -> Finding:
    """Return the finding of a cause. explanation: in place of the part's rule."""
    level, title, remedy = CAUSES[code]
    return Finding(
        cause=code,
        level=level,
        title=title,
        explanation=explanation or part.rule,
        remedy=remedy or part.remedy,
        line=part.name or None,
    )


def first_finding(part: Part, verdicts: Mapping[str, Verdict]) -> Finding | None:
    """Return the finding of the first cause that applies. verdicts: by the cause's code."""
    for code, verdict in verdicts.items():
        if verdict:
            return finding(code, part, verdict if isinstance(verdict, str) else "")
    return None


def counted(number: float, unit: str) -> str:
    """Return a number with its unit, such as 1 hour, 1.5 hours, 3,600 seconds. unit: in the singular."""
    return f"{number:,.15g} {unit}" + ("" if number == 1 else "s")


_ENCODE_PATH = "Percent-encode every byte except A-Z a-z 0-9 - . _ ~ and /, also ! ' ( ) * : @."
_ENCODE_QUERY = "Percent-encode every byte except A-Z a-z 0-9 - . _ ~, also ! ' ( ) * : /."
_PERCENT_20 = "Use a percent-encoding function, which writes %20, not one for forms."
_ENCODE_ONCE = "Encode once, unless the value contains a percent sign before two hex digits."

# By the cause's code: title, and remedy, "" for that of the part.
_Texts = dict[str, tuple[str, str]]

_ERRORS: _Texts = {
    # Headers.
    "api-key-missing": ("X-Api-Key is missing", "Send your API key in the header X-Api-Key."),
    "api-key-quoted": ("X-Api-Key is in quotation marks", "Send the key without quotation marks."),
    "api-key-malformed": ("X-Api-Key is not an API key", ""),
    "api-key-elsewhere": ("An API key is outside X-Api-Key", "Send the key in the header X-Api-Key only."),
    "timestamp-missing": ("X-Request-Timestamp is missing", ""),
    "timestamp-quoted": ("X-Request-Timestamp is in quotation marks", "Send the time without quotation marks."),
    "timestamp-is-number": ("X-Request-Timestamp is a number", ""),
    "timestamp-without-zone": ("X-Request-Timestamp has no time zone", ""),
    "timestamp-with-space": ("X-Request-Timestamp has a space instead of T", ""),
    "timestamp-of-http": ("X-Request-Timestamp has the format of the Date header", ""),
    "timestamp-malformed": ("X-Request-Timestamp is not an RFC 3339 date-time", ""),
    "clock-ahead": ("The clock is ahead", "Synchronise the clock with NTP, and read it when you sign."),
    "signature-missing": ("X-Request-Signature is missing", "Sign the request."),
    "signature-quoted": ("The signature is in quotation marks", ""),
    "signature-labelled": ("The signature has a label before it", ""),
    "base64-instead-of-hex": ("The signature is Base64", ""),
    "signature-of-other-length": ("The signature is truncated, or of another hash function", ""),
    "signature-malformed": ("The signature is not hex", ""),
    "header-repeated": ("A header is repeated", "Send each header once."),
    "header-not-ascii": ("A header has non-ASCII characters", "Look for a hyphen or a space copied from a document."),
    # URL and body.
    "not-under-v1": ("The path has no /v1", "Send the request to a path such as /v1/ping."),
    "path-not-utf8": ("The path is not UTF-8", "Encode as UTF-8 before you percent-encode."),
    "query-not-utf8": ("The query is not UTF-8", "Encode as UTF-8 before you percent-encode."),
    "url-cut": ("The shell cuts the URL at &", "Put the URL into quotation marks."),
    "body-too-large": ("The body is too large", "Send at most 64 KiB: more is a 413."),
    # The HMAC.
    "signed-with-empty-secret": ("The signature was made with an empty secret", "Check that your program reads it."),
    "signed-with-api-key": ("The signature was made with the API key", "Use the secret issued with the API key."),
    "hash-instead-of-hmac": ("The signature is a SHA-256 without a secret", "Compute the HMAC under the secret."),
    # The layout of the canonical request.
    "byte-order-mark": ("The text begins with a byte order mark", "Encode as UTF-8 without a byte order mark."),
    "line-feeds-escaped": ("Line feeds are written as \\n", "Use a string literal in which \\n is a line feed."),
    "crlf": ("Lines end with CRLF", "Join with \\n, not with the line end of your system."),
    "carriage-return": ("A carriage return replaces a line feed", ""),
    "joined-otherwise": ("The lines are not joined by line feeds", ""),
    "line-feed-at-start": ("The text begins with an empty line", "Begin with the method."),
    "line-feed-at-end": ("A line feed follows the last line", "Look for an editor, echo or heredoc that adds one."),
    "empty-line-missing": ("An empty line is missing", ""),
    "wrong-line-order": ("The lines are in another order", "Write method, path, query, timestamp, key, body digest."),
    "line-missing": ("A line is missing", "Write all six lines always."),
    "too-many-lines": ("There are more than six lines", "Sign the six lines only."),
    # Any line.
    "spaces-around-line": ("The line has spaces or tabs around it", "Remove them: headers arrive without them."),
    "line-in-quotes": ("The line is in quotation marks", "Sign the text, not its JSON."),
    "line-with-label": ("The line has a label", "Remove the name and the colon."),
    "invisible-character": ("The line has an invisible character", "Look at the bytes of the value at its source."),
    # Line 1.
    "method-not-upper-case": ("The method is not in upper case", ""),
    "method-differs": ("The method differs from the one sent", "Look for a redirect or a library that changes it."),
    # Line 2.
    "query-in-path": ("The path line contains the query", "Cut the URL at its first question mark."),
    "url-instead-of-path": ("The path line is a URL", "Sign the path only, without scheme and host."),
    "path-with-prefix": ("The path is signed with a prefix before /v1", "Sign the path from /v1 on."),
    "path-without-version": ("The path has no /v1", "Sign the path with /v1, also if your base URL ends with it."),
    "path-slash-at-end": ("The slash at the end of the path differs", "/v1/ping and /v1/ping/ are two paths."),
    "path-without-first-slash": ("The path does not begin with a slash", ""),
    "encoded-slash-kept": ("The path has an encoded slash", "Decode %2F too, and encode everything but slashes."),
    "path-slashes-encoded": ("The slashes of the path are encoded", "Encode / in the query only, as %2F."),
    "path-hex-in-lower-case": ("The path has lower-case hex", "Write hex digits in upper case: %C3, not %c3."),
    "path-decoded": ("The path is decoded instead of encoded", _ENCODE_PATH),
    "path-encoded-twice": ("The path is encoded twice", "Encode the decoded path once."),
    "path-plus-for-space": ("The path has + for a space", _PERCENT_20),
    "path-encoded-otherwise": ("The path is encoded by other rules", _ENCODE_PATH),
    "path-as-sent": ("The path is signed as sent, not normalised", ""),
    "path-differs": ("The path differs from the one sent", ""),
    # Line 3.
    "query-not-signed": ("The query is not signed", ""),
    "query-question-mark": ("The query begins with a question mark", "Omit the question mark."),
    "query-unsorted": ("The query is not sorted", "Sort the encoded pairs by name, then by value, byte by byte."),
    "query-sorted-otherwise": ("The query is sorted by another rule", "Encode, then sort by bytes, not by locale."),
    "query-hex-in-lower-case": ("The query has lower-case hex", "Write hex digits in upper case: %3A, not %3a."),
    "query-slash-left": ("A slash of the query is not encoded", "Write / in names and values as %2F."),
    "query-plus-for-space": ("The query has + for a space", _PERCENT_20),
    "query-decoded": ("The query is decoded instead of encoded", _ENCODE_QUERY),
    "query-decoded-and-unsorted": ("The query is neither encoded nor sorted", ""),
    "query-encoded-twice": ("The query is encoded twice", "Encode the decoded names and values once."),
    "query-encoded-whole": ("The query is encoded as a whole", "Encode names and values, then join with = and &."),
    "query-empty-value-lost": ("A parameter without a value has no =", "Write name= if there is no value."),
    "query-repetition-lost": ("A repeated parameter is signed once", "Keep a list of pairs, not a dictionary."),
    "query-encoded-otherwise": ("The query is encoded by other rules", _ENCODE_QUERY),
    "query-as-sent": ("The query is signed as sent, not normalised", ""),
    "query-differs": ("The query differs from the one sent", ""),
    # Line 4.
    "timestamp-reformatted": ("The signed timestamp has another format than the header", ""),
    "timestamp-signed-as-number": ("The timestamp is signed as a number", ""),
    "timestamp-of-another-moment": ("The signed time differs from the header", ""),
    "timestamp-differs": ("Line 4 is not the timestamp", ""),
    # Line 5.
    "idempotency-key-case": ("The letter case of the Idempotency-Key differs", ""),
    "idempotency-key-left-out": ("The Idempotency-Key is not signed", "Look for a library that adds the header."),
    "idempotency-key-word": ("Line 5 is a word such as null", "Leave line 5 empty if there is no key."),
    "idempotency-key-not-sent": ("The Idempotency-Key was signed, but not sent", "Look for a proxy that removes it."),
    "idempotency-key-reformatted": ("The signed Idempotency-Key has another format than the header", ""),
    "idempotency-key-differs": ("The signed Idempotency-Key differs from the header", ""),
    # Line 6.
    "body-digest-upper-case": ("The body digest is in upper case", "Write the digest in lower case."),
    "body-digest-left-out": ("The body digest is missing", "Hash an empty body too: e3b0c442…b855."),
    "body-serialised-again": ("The JSON was serialised again", "Give your HTTP library bytes, not an object."),
    "body-not-hashed": ("The digest is of an empty body", "Look for a stream that was already read."),
    "body-placeholder-hashed": ("A placeholder was hashed, but there is no body", "Hash zero bytes."),
    "body-end-differs": ("The hashed body ends differently", "Look for an editor or echo that adds a line feed."),
    "body-line-ends-differ": ("The hashed body has other line ends", "Open files in binary mode."),
    "body-serialised-twice": ("The body was hashed as a JSON string", "Do not serialise the JSON once more."),
    "body-encoded-otherwise": ("The body was hashed in another encoding", "Use UTF-8 without a byte order mark."),
    "body-hashed-twice": ("The body was encoded or hashed before hashing", "Hash the bytes of the body, once."),
    "body-digest-base64": ("The body digest is Base64", "Write the digest in lower-case hex."),
    "body-itself": ("Line 6 is the body instead of its digest", "Sign the body's SHA-256 in hex."),
    "body-other-hash": ("The body digest is of another hash function", "Use SHA-256."),
    "body-digest-malformed": ("Line 6 is not a SHA-256", ""),
    "body-differs": ("The digest is of another body", "Log the bytes that you hash and the bytes that you send."),
}

_WARNINGS: _Texts = {
    "local-time-as-utc": ("Local time may have been sent as UTC", "Use UTC, or write the offset instead of Z."),
    "clock-behind": ("The request is old, or the clock is behind", "Use NTP, and sign each attempt when you send it."),
    "target-not-encoded": ("The URL has characters that must be encoded", "Percent-encode names and values first."),
    "path-sent-encoded-twice": ("The path seems to be encoded twice", _ENCODE_ONCE),
    "query-sent-encoded-twice": ("The query seems to be encoded twice", _ENCODE_ONCE),
    "dot-segment": ("The path has . or .. as a segment", "Clients resolve it: with curl, use --path-as-is."),
    "header-unreadable": ("A line is not a header", "Check that an empty line separates headers and body."),
    "header-underscore": ("A header name has _ instead of -", "Use hyphens: many proxies drop such headers."),
    "idempotency-key-empty": ("The Idempotency-Key is empty", "Send a UUID, or omit the header."),
    "idempotency-key-not-uuid": ("The Idempotency-Key is not a UUID", ""),
    "content-type-missing": ("Content-Type is missing", ""),
    "content-type-other": ("Content-Type is not JSON in UTF-8", ""),
    "content-length-differs": ("The body does not have the declared length", "Paste the body exactly as sent."),
    "body-without-write": ("The method takes no body", "Send no body, and hash zero bytes: many proxies drop it."),
    "body-byte-order-mark": ("The body begins with a byte order mark", "Remove it: JSON may not begin with one."),
    "body-not-json": ("The body is not JSON", "Paste the body exactly as sent: a write needs a JSON object."),
    "text-in-quotes": ("The text is in quotation marks", "Sign the text without them; they are ignored here."),
    "file-not-read": ("The command reads data from a file", "Paste the content: --data-binary '…'."),
    "form-not-read": ("The command sends a multipart form", "Send JSON with --data-binary."),
    "variable-not-known": ("The command has shell variables", "Paste the values that were sent, but no secret."),
}

_NOTES: _Texts = {
    "well-formed": (
        "This request is well formed",
        "To find the difference, paste the canonical request that your program built.",
    ),
    "canonical-right": (
        "Your canonical request is right",
        "Check that the secret belongs to this key and is used as issued, psi_secret_ included and not decoded.",
    ),
    "path-prefix": ("The prefix before /v1 is not signed", "Nothing to do if you sign from /v1 on."),
    "body-restored": ("The body was changed by pasting", "Nothing to do if this is the body that you sent."),
    "body-ends-with-line-feed": ("The body ends with a line feed", "Remove it, unless you sent it: it is hashed too."),
}

CAUSES = {
    code: Cause(level, *texts)
    for level, table in zip(Level, (_ERRORS, _WARNINGS, _NOTES), strict=True)
    for code, texts in table.items()
}
