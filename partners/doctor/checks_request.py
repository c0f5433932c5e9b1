"""What the target of a request shows by itself, and headers that do not arrive as they were sent."""

import re

from partners.doctor.checks import SIGNING_HEADERS, Check, Clock, Groups, listed
from partners.doctor.findings import ERROR, NOTE, PATH, QUERY, WARNING, Cause
from partners.doctor.mistakes import Verdict
from partners.doctor.sent import Sent

_FIT_FOR_A_TARGET = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]]*+")
_ENCODED_TWICE = re.compile(r"%25[0-9A-Fa-f]{2}")
_DOT_SEGMENT = re.compile(r"/\.{1,2}(?:/|$)")


def _not_under_v1(sent: Sent, _: Clock) -> Verdict:
    return not (sent.path == "/v1" or sent.path.startswith("/v1/"))


def _has_prefix(sent: Sent, _: Clock) -> Verdict:
    return {"prefix": sent.prefix} if sent.prefix else False


def _path_not_utf8(sent: Sent, _: Clock) -> Verdict:
    return not _is_utf8(sent.decoded_path)


def _query_not_utf8(sent: Sent, _: Clock) -> Verdict:
    return not sent.is_utf8 and _is_utf8(sent.decoded_path)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _not_encoded(sent: Sent, _: Clock) -> Verdict:
    return not _FIT_FOR_A_TARGET.fullmatch(sent.target)


def _path_encoded_twice(sent: Sent, _: Clock) -> Verdict:
    return bool(_ENCODED_TWICE.search(sent.path))


def _query_encoded_twice(sent: Sent, _: Clock) -> Verdict:
    return bool(_ENCODED_TWICE.search(sent.query))


def _has_dot_segment(sent: Sent, _: Clock) -> Verdict:
    return bool(_DOT_SEGMENT.search(sent.path))


def _repeated(sent: Sent, _: Clock) -> Verdict:
    return listed(name for name in SIGNING_HEADERS if len(sent.values(name)) > 1)


def _not_ascii(sent: Sent, _: Clock) -> Verdict:
    return listed(name for name in SIGNING_HEADERS if not sent.header(name).isascii())


def _underscored(sent: Sent, _: Clock) -> Verdict:
    known = {name.lower() for name in SIGNING_HEADERS}
    return listed(name for name, _ in sent.headers if "_" in name and name.lower().replace("_", "-") in known)


GROUPS: Groups = (
    (
        Check(
            Cause(
                "not-under-v1",
                ERROR,
                "The path has no /v1",
                "Everything this service answers is under /v1, and the path is signed from there on.",
                "Send the request to a path such as /v1/ping.",
                PATH,
            ),
            _not_under_v1,
        ),
        Check(
            Cause(
                "path-prefix",
                NOTE,
                "What stands before /v1 is not signed",
                "The path is taken from /v1 on: {prefix} is of the base URL, and something before the service has to"
                " take it away.",
                "Nothing is to be done if you sign from /v1 on.",
                PATH,
            ),
            _has_prefix,
        ),
    ),
    (
        Check(
            Cause(
                "path-not-utf8",
                ERROR,
                "The path is not UTF-8",
                "Its decoded bytes are no UTF-8, so nothing can sign it; the service answers bad_request.",
                "Encode as UTF-8 before you percent-encode.",
                PATH,
            ),
            _path_not_utf8,
        ),
        Check(
            Cause(
                "query-not-utf8",
                ERROR,
                "The query is not UTF-8",
                "Its decoded bytes are no UTF-8, so nothing can sign it; the service answers bad_request.",
                "Encode as UTF-8 before you percent-encode.",
                QUERY,
            ),
            _query_not_utf8,
        ),
        Check(
            Cause(
                "target-not-encoded",
                WARNING,
                "The URL holds characters that cannot be sent",
                "A client encodes them, refuses them or cuts the URL there; here they are taken as UTF-8.",
                "Percent-encode names and values before you put the URL together.",
            ),
            _not_encoded,
        ),
    ),
    (
        Check(
            Cause(
                "path-sent-encoded-twice",
                WARNING,
                "The path seems to be encoded twice",
                "After %25, an encoded percent sign, follow two hex digits, as if an escape had been encoded.",
                "Encode once, unless a percent sign belongs to the value.",
                PATH,
            ),
            _path_encoded_twice,
        ),
    ),
    (
        Check(
            Cause(
                "query-sent-encoded-twice",
                WARNING,
                "The query seems to be encoded twice",
                "After %25, an encoded percent sign, follow two hex digits, as if an escape had been encoded.",
                "Encode once, unless a percent sign belongs to the value.",
                QUERY,
            ),
            _query_encoded_twice,
        ),
    ),
    (
        Check(
            Cause(
                "dot-segment",
                WARNING,
                "The path holds . or .. by itself",
                "Many clients, curl among them, and proxies resolve such parts, and then another path arrives.",
                "Sign the path that is sent; with curl, use --path-as-is.",
                PATH,
            ),
            _has_dot_segment,
        ),
    ),
    (
        Check(
            Cause(
                "header-repeated",
                ERROR,
                "A header was sent more than once",
                "Several headers of one name are joined by a comma: {names}.",
                "Send each header once.",
            ),
            _repeated,
        ),
    ),
    (
        Check(
            Cause(
                "header-not-ascii",
                ERROR,
                "A header holds characters beyond ASCII",
                "Such a value may arrive changed or empty: {names}.",
                "Send visible ASCII characters; mind a hyphen or a space that a word processor has replaced.",
            ),
            _not_ascii,
        ),
    ),
    (
        Check(
            Cause(
                "header-underscore",
                WARNING,
                "A header's name has _ for -",
                "Many proxies drop such headers, and the service may read them or not: {names}.",
                "Write the name with hyphens.",
            ),
            _underscored,
        ),
    ),
)
