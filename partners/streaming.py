"""Answers that are sent in pieces: documents, exports.

Each holds one of the worker's threads until its reader has taken the last piece, however slowly. So there are at most
MOST_AT_ONCE of them in a process, fewer than it has threads: the others answer everybody else.
"""

import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

from django.http import StreamingHttpResponse

# Fewer than THREADS in config/serve.py.
MOST_AT_ONCE = 4
# After that time it is worth to ask again.
RETRY_SECONDS = 5

_slots = threading.BoundedSemaphore(MOST_AT_ONCE)


class TooManyStreamsError(Exception):
    """This process sends as many answers in pieces as it may."""


class Pieces(Protocol):
    """An iterator that holds something open."""

    def __next__(self) -> bytes:
        """The next piece."""

    def close(self) -> None:
        """Lets go of it, read to the end or not."""


class _Held(Iterator[bytes]):
    """Pieces with one of the slots, which is given back when the server closes the answer."""

    def __init__(self, pieces: Pieces, slots: threading.BoundedSemaphore) -> None:
        self._pieces = pieces
        # Nobody closes an answer that was never sent, since a middleware failed.
        self._give_back = weakref.finalize(self, slots.release)

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        self._give_back()
        self._pieces.close()


def stream(pieces: Pieces, **options: Any) -> StreamingHttpResponse:
    """An answer made of `pieces`. options: as for Django's response.

    Raises TooManyStreamsError; `pieces` are closed then.
    """
    if not _slots.acquire(blocking=False):
        pieces.close()
        raise TooManyStreamsError
    return StreamingHttpResponse(_Held(pieces, _slots), **options)
