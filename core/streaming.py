"""Streamed responses: documents, exports.

Each occupies a thread of the worker until the client has received the last chunk. So their number per process and per
owner (a partner, or all staff) is limited.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Generator
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


# Reentrant: garbage collection within `__init__` can call `_release`.
_lock = threading.RLock()
_streams: Counter[str] = Counter()  # by owner


def _release(owner: str) -> None:
    with _lock:
        _streams[owner] -= 1
        if not _streams[owner]:
            del _streams[owner]


class LimitedStreamingResponse(StreamingHttpResponse):
    """A streamed response within the limits, until the server closes it."""

    def __init__(self, chunks: Generator[bytes, None, None], *, owner: str, **options: Any) -> None:
        """owner: a partner's slug, or STAFF. Raises TooManyStreamsError after closing `chunks`."""
        with _lock:
            if _streams[owner] >= MAX_STREAMS_PER_OWNER or _streams.total() >= MAX_STREAMS:
                chunks.close()
                raise TooManyStreamsError
            _streams[owner] += 1
        # A response that is never sent, because a middleware failed, is not closed.
        self._release = weakref.finalize(self, _release, owner)
        super().__init__(chunks, **options)

    def close(self) -> None:
        """Release it, and close the chunks."""
        self._release()
        super().close()
