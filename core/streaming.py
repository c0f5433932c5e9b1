"""Streamed responses: documents, exports.

Each occupies a thread of the worker until the client has received the last chunk, however slowly. Their number per
process and per owner (a partner, or all staff) is limited, so that other threads remain for other requests.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

from django.http import StreamingHttpResponse

# Fewer than THREADS in config/serve.py.
MAX_STREAMS = 4
MAX_STREAMS_PER_OWNER = 2
# The value of Retry-After.
RETRY_SECONDS = 5

STAFF = "staff"


class TooManyStreamsError(Exception):
    """The process, or the owner in it, has reached its limit of streamed responses."""


# Reentrant: garbage collection within `_acquire` can call `_release`.
_lock = threading.RLock()
_streams: Counter[str] = Counter()  # by owner


def _acquire(owner: str) -> bool:
    with _lock:
        is_free = _streams[owner] < MAX_STREAMS_PER_OWNER and _streams.total() < MAX_STREAMS
        _streams[owner] += is_free
        return is_free


def _release(owner: str) -> None:
    with _lock:
        _streams[owner] -= 1
        if not _streams[owner]:
            del _streams[owner]


class _CountedChunks(Iterator[bytes]):
    """Chunks that count as a stream until the server closes the response."""

    def __init__(self, chunks: Generator[bytes, None, None], owner: str) -> None:
        self._chunks = chunks
        # A response that is never sent, because a middleware failed, is not closed.
        self._release = weakref.finalize(self, _release, owner)

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        self._release()
        self._chunks.close()


class LimitedStreamingResponse(StreamingHttpResponse):
    """A streamed response within the limits."""


def stream(chunks: Generator[bytes, None, None], *, owner: str, **options: Any) -> LimitedStreamingResponse:
    """A streamed response. owner: a partner's slug, or STAFF. Raises TooManyStreamsError after closing `chunks`."""
    if not _acquire(owner):
        chunks.close()
        raise TooManyStreamsError
    return LimitedStreamingResponse(_CountedChunks(chunks, owner), **options)
