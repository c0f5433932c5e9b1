"""Answers that are sent in pieces: documents, exports.

Each holds one of the worker's threads until its reader has taken the last piece, however slowly. So there are at most
MOST_AT_ONCE of them in a process, fewer than it has threads, and MOST_OF_ONE for one partner, or for all staff: the
other threads answer everybody else. Where staff have a process of their own (STAFF_PORT), MOST_AT_ONCE holds for them.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

from django.conf import settings
from django.http import StreamingHttpResponse

# Fewer than THREADS in config/serve.py.
MOST_AT_ONCE = 4
MOST_OF_ONE = 2
# After that time it is worth to ask again.
RETRY_SECONDS = 5

STAFF = "staff"


class TooManyStreamsError(Exception):
    """This process sends as many answers in pieces as it may."""


class Pieces(Protocol):
    """An iterator that holds something open."""

    def __next__(self) -> bytes:
        """The next piece."""

    def close(self) -> None:
        """Lets go of it, read to the end or not."""


class _Slots:
    """How many answers are under way, by whose they are."""

    def __init__(self) -> None:
        # Taken again by the same thread, where it collects garbage meanwhile.
        self._lock = threading.RLock()
        self._taken: Counter[str] = Counter()

    def take(self, owner: str) -> bool:
        with self._lock:
            most = MOST_AT_ONCE if owner == STAFF and settings.STAFF_PORT else MOST_OF_ONE
            is_free = self._taken[owner] < most and self._taken.total() < MOST_AT_ONCE
            self._taken[owner] += is_free
            return is_free

    def give_back(self, owner: str) -> None:
        with self._lock:
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]


_slots = _Slots()


class _Held(Iterator[bytes]):
    """Pieces with one of the slots, which is given back when the server closes the answer."""

    def __init__(self, pieces: Pieces, slots: _Slots, owner: str) -> None:
        self._pieces = pieces
        # Nobody closes an answer that was never sent, since a middleware failed.
        self._give_back = weakref.finalize(self, slots.give_back, owner)

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        self._give_back()
        self._pieces.close()


class PiecesResponse(StreamingHttpResponse):
    """An answer in pieces that holds a slot."""


def stream(pieces: Pieces, *, owner: str, **options: Any) -> PiecesResponse:
    """An answer made of `pieces`. owner: a partner's slug, or STAFF. options: as for Django's response.

    Raises TooManyStreamsError; `pieces` are closed then.
    """
    if not _slots.take(owner):
        pieces.close()
        raise TooManyStreamsError
    return PiecesResponse(_Held(pieces, _slots, owner), **options)
