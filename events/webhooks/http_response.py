"""Reads a webhook's response: its head, and some of its body (contract, section 10).

The result is the status, and of the headers only `Retry-After` matters, so it is lenient with all others. They are
parsed as `http.client` does, which itself blocks and refuses more than 100 of them.
"""

import asyncio
import re
from email.message import Message
from email.parser import HeaderParser
from email.policy import compat32
from http import HTTPStatus
from typing import NamedTuple

# The status line and headers, interim responses (1xx) included, have at most so many bytes.
MAX_HEAD_BYTES = 64 * 1024
# How much of the body is read; none of it is kept.
MAX_BODY_BYTES = 64 * 1024
_CHUNK_BYTES = 16 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] +([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
_BLANK_LINES = (b"\r\n", b"\n")
# A chunked body ends with it.
_LAST_CHUNK = b"0\r\n\r\n"


class MalformedResponseError(Exception):
    """The head is not HTTP, is longer than MAX_HEAD_BYTES, or breaks off."""


class Head(NamedTuple):
    """Status and headers of a response."""

    status: int
    headers: Message

    @property
    def has_body(self) -> bool:
        """Whether a body may follow (RFC 9112, section 6.3)."""
        return self.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


async def read_head(reader: asyncio.StreamReader) -> Head:
    """Read the head of the response, past interim ones. The reader's limit is MAX_HEAD_BYTES.

    Raises MalformedResponseError, and OSError where the connection breaks.
    """
    left = MAX_HEAD_BYTES
    while True:
        lines = await _read_lines(reader, left)
        left -= sum(map(len, lines))
        match = _STATUS_LINE.fullmatch(lines[0])
        if match is None:
            raise MalformedResponseError
        headers = HeaderParser(policy=compat32).parsestr(b"".join(lines[1:]).decode("latin-1"), headersonly=True)
        status = int(match[1])
        if status >= HTTPStatus.OK or status == HTTPStatus.SWITCHING_PROTOCOLS:
            return Head(status, headers)


async def _read_lines(reader: asyncio.StreamReader, limit: int) -> list[bytes]:
    """Return the lines up to a blank one, without it."""
    lines: list[bytes] = []
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            # It is longer than the reader's limit.
            raise MalformedResponseError from None
        limit -= len(line)
        if limit < 0 or not line.endswith(b"\n"):
            raise MalformedResponseError
        if line in _BLANK_LINES:
            if not lines:
                raise MalformedResponseError
            return lines
        lines.append(line)


async def skip_body(reader: asyncio.StreamReader, head: Head) -> None:
    """Read the body until its end or MAX_BODY_BYTES. Raises OSError where the connection breaks.

    The receiver is asked to close the connection, so its end is the body's. For those that do not close it, a length or
    a last chunk ends it too.
    """
    length = head.headers.get("Content-Length", "")
    left = min(int(length), MAX_BODY_BYTES) if re.fullmatch("[0-9]{1,18}", length) else MAX_BODY_BYTES
    is_chunked = "Transfer-Encoding" in head.headers
    if is_chunked:
        left = MAX_BODY_BYTES
    while head.has_body and left > 0 and (chunk := await reader.read(min(left, _CHUNK_BYTES))):
        left -= len(chunk)
        if is_chunked and chunk.endswith(_LAST_CHUNK):
            return
