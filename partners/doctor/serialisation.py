"""JSON as the libraries of common languages serialise it."""

import json
from collections.abc import Iterator
from typing import Any

# No larger body, and none with more brackets: indenting costs the product of size and depth.
_LARGEST_BYTES = 8 * 1024
_MOST_BRACKETS = 100
# From here on JavaScript writes a number with an exponent.
_EXPONENT_FROM = 1e21
_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def serialised_again(body: bytes) -> Iterator[bytes]:
    """Yield a body's JSON in other bytes; nothing if it is not JSON, or too large."""
    if len(body) > _LARGEST_BYTES or body.count(b"[") + body.count(b"{") > _MOST_BRACKETS:
        return
    try:
        values = json.loads(body), json.loads(body, parse_float=_javascript_number)
    except ValueError:
        return
    for value in values:
        for text in _serialised(value):
            # A lone surrogate can be escaped, but not encoded.
            yield text.encode(errors="replace")


def _javascript_number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


def _serialised(value: Any) -> Iterator[str]:
    for sort_keys in (False, True):
        for ensure_ascii in (False, True):
            compact = json.dumps(value, sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=(",", ":"))
            yield compact
            yield json.dumps(value, sort_keys=sort_keys, ensure_ascii=ensure_ascii)
            # PHP; Go.
            yield compact.replace("/", "\\/")
            yield compact.translate(_GO_ESCAPES)
        for indent in (2, 4, "\t"):
            yield json.dumps(value, sort_keys=sort_keys, ensure_ascii=False, indent=indent)
