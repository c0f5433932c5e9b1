"""Downloads, generated while they are sent, from one snapshot and within a time limit; CSV for spreadsheets too."""

import csv
import re
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from datetime import date
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import structlog
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from core.database.statements import acting, response_timeout
from core.streaming import RETRY_SECONDS, STAFF, LimitedStreamingResponse, TooManyStreamsError

log = structlog.get_logger("users.exports")

CHUNK_BYTES = 64 * 1024
# Limits on one fetch, on the client's pause between two chunks, and on the whole export.
STATEMENT_SECONDS = 30
STALLED_SECONDS = 60
EXPORT_SECONDS = 15 * 60

# What makes a spreadsheet run a cell as a formula (OWASP: CSV injection); also after a semicolon, which separates cells
# in French, and a quote.
_FORMULA = re.compile(r'(\A|;)(?=[\s"]*[=+\-@＝＋－＠]|[\t\r\n])')
# Excel recognizes UTF-8 by it.
_BYTE_ORDER_MARK = "\ufeff"
CUT_OFF = "INCOMPLETE: this export was cut off. Export it again.\r\n"


def from_snapshot(chunks: Generator[bytes, None, None]) -> Iterator[bytes]:
    """Generate what is not empty of these chunks, read-only, from one snapshot. Raises TimeoutError."""
    deadline = time.monotonic() + EXPORT_SECONDS
    # An open transaction keeps its own isolation level.
    is_outermost = not connection.in_atomic_block
    with response_timeout(STATEMENT_SECONDS), transaction.atomic(), closing(chunks):
        # A context would come before the isolation level, which must be the first statement.
        with acting(), connection.cursor() as cursor:
            if is_outermost:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{STALLED_SECONDS}s'")
            cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
        for chunk in chunks:
            if time.monotonic() > deadline:
                raise TimeoutError
            # The database would end the transaction as idle while a large file is read or sent.
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            if chunk:
                yield chunk


def too_many_downloads(request: HttpRequest) -> HttpResponse:
    """Return the 503 page for a download beyond the number that a process sends at once."""
    response = render(request, "backoffice/exports/too_many_downloads.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def download(
    request: HttpRequest,
    chunks: Generator[bytes, None, None],
    *,
    name: str,
    content_type: str = "application/zip",
    cut_off: str = "",
) -> HttpResponseBase:
    """Send what these generate, as a file. cut_off: the end of one not completed, which nothing else would show."""

    def content() -> Generator[bytes, None, None]:
        try:
            yield from from_snapshot(chunks)
        except Exception:
            log.exception("an export was cut off", kind=content_type)
            yield cut_off.encode()

    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    try:
        return LimitedStreamingResponse(content(), owner=STAFF, content_type=content_type, headers=headers)
    except TooManyStreamsError:
        return too_many_downloads(request)


def send_csv(
    request: HttpRequest, name: str, headings: Iterable[str], rows: Iterable[Iterable[Any]]
) -> HttpResponseBase:
    """Send a list as a file of this name and of now. rows: read from the database as they are sent."""
    name = f"{name}-{timezone.now():%Y%m%d-%H%M%S}.csv"
    chunks = in_chunks(csv_file(headings, rows))
    return download(request, chunks, name=name, content_type="text/csv; charset=utf-8", cut_off=CUT_OFF)


def in_chunks(texts: Iterable[str]) -> Generator[bytes, None, None]:
    """Join short texts into chunks of about CHUNK_BYTES: the server sends a frame for each."""
    buffer, size = list[str](), 0
    for text in texts:
        buffer.append(text)
        size += len(text)
        if size >= CHUNK_BYTES:
            yield "".join(buffer).encode()
            buffer, size = [], 0
    yield "".join(buffer).encode()


def csv_file(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Write a heading, and a line for each row."""
    # It returns what `write` does: the line.
    writer: Any = csv.writer(SimpleNamespace(write=str))
    yield _BYTE_ORDER_MARK
    yield writer.writerow(headings)
    for row in rows:
        yield writer.writerow(map(_cell, row))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return _FORMULA.sub(r"\1'", value.isoformat() if isinstance(value, date) else str(value))
