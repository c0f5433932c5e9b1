"""One JSON value in the bytes that the libraries of common languages write."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

# Larger and deeper JSON is left out: each body is written again in some forty ways, and indenting costs the product
# of size and depth. A user takes less than a tenth of this.
_LARGEST_BYTES = 8 * 1024
_DEEPEST = 8

# From here on JavaScript writes a number with an exponent.
_EXPONENT_FROM = 1e21

_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def serialised_again(body: bytes) -> Iterator[bytes]:
    """A body's JSON in other bytes; none where it is no JSON, or larger or deeper than bodies here are."""
    if len(body) > _LARGEST_BYTES:
        return
    for value in _values(body):
        for text in _serialised(value):
            # Half a character can be escaped, but not written.
            yield text.encode(errors="replace")


def _values(body: bytes) -> Iterator[Any]:
    """The body's JSON value, and the same with numbers as JavaScript has them."""
    try:
        value = json.loads(body)
        if not _is_deep(value):
            yield value
            yield json.loads(body, parse_float=_javascript_number)
    except (ValueError, RecursionError):
        return


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        containers = [
            item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)
        ]
        level = [item for container in containers for item in container]
    return bool(level)


def _javascript_number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


def _serialised(value: Any) -> Iterator[str]:
    for sort_keys in (False, True):
        for ensure_ascii in (False, True):
            write = partial(json.dumps, value, sort_keys=sort_keys, ensure_ascii=ensure_ascii)
            compact = write(separators=(",", ":"))
            yield compact
            yield write()
            # PHP; Go.
            yield compact.replace("/", "\\/")
            yield compact.translate(_GO_ESCAPES)
        for indent in (2, 4, "\t"):
            yield json.dumps(value, sort_keys=sort_keys, ensure_ascii=False, indent=indent)
