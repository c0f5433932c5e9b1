"""Answers that are made while they are sent, however long: what is read comes from one snapshot, and ends in time."""

import io
import time
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import structlog
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from partners.db.statements import answers_within
from partners.streaming import RETRY_SECONDS, STAFF, TooManyStreamsError, stream

log = structlog.get_logger("users.exports")

# Rows fetched at once by a server-side cursor.
ROWS_AT_ONCE = 1_000
# Text is sent in pieces of about this size: each one is a frame to the server.
PIECE = 64 * 1024
# How long one fetch may take; how long a client may take over a piece; how long all of it may take.
STATEMENT_SECONDS = 30
STALLED_SECONDS = 60
LONGEST_SECONDS = 15 * 60


class ExportTooLongError(Exception):
    """The export took longer than LONGEST_SECONDS."""


@contextmanager
def snapshot() -> Iterator[None]:
    """All statements within see the database as it is now, and write nothing."""
    # Within somebody else's transaction that one's view holds.
    begins = not connection.in_atomic_block
    with answers_within(STATEMENT_SECONDS), transaction.atomic(), connection.cursor() as cursor:
        if begins:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{STALLED_SECONDS}s'")
        cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
        yield


def too_many_downloads(request: HttpRequest) -> HttpResponse:
    """The page for who asks for a download while this process sends as many as it may."""
    page = render(request, "503.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
    page.headers["Retry-After"] = str(RETRY_SECONDS)
    return page


def download(
    request: HttpRequest, pieces: Callable[[], Iterator[bytes]], *, name: str, content_type: str, cut_off: str = ""
) -> HttpResponseBase:
    """Sends what `pieces` makes, within a snapshot, as a file of this name.

    cut_off: what the file ends with where it could not be finished. The server ends such an answer as it ends
    any other, so nothing else would tell the reader.
    """

    def sent() -> Generator[bytes, None, None]:
        try:
            yield from _in_time(pieces)
        except Exception:
            log.exception("an export was cut off", kind=content_type)
            yield cut_off.encode()

    try:
        return stream(
            sent(),
            owner=STAFF,
            content_type=content_type,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
    except TooManyStreamsError:
        return too_many_downloads(request)


def _in_time(pieces: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    ends = time.monotonic() + LONGEST_SECONDS
    with snapshot():
        for piece in pieces():
            if time.monotonic() > ends:
                raise ExportTooLongError
            yield piece


def in_pieces(texts: Iterable[str]) -> Iterator[bytes]:
    """Texts joined into pieces worth sending."""
    waiting, size = list[str](), 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= PIECE:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting).encode()


class _Outlet(io.RawIOBase):
    """Where the archive is written to, and taken from: it is never whole."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def zipped(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """A ZIP archive of these files, each given by its name and its pieces, one after the other."""
    outlet = _Outlet()
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in files:
            # Its size is not known beforehand, and may need more than 32 bits.
            with archive.open(name, "w", force_zip64=True) as entry:
                for piece in pieces:
                    entry.write(piece)
                    if taken := outlet.take():
                        yield taken
    yield outlet.take()
