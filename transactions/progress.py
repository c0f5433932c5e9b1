"""How far an import is, while it runs: one line of text, on a terminal drawn over and over.

It asks nobody: it is told how far the source is read, and takes no lock, in this process or in the database.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

_ON_TERMINAL = 0.5
_ELSEWHERE = 10.0
_WIDTH = 24
_KIB = 1024


class Stream(Protocol):
    """Where the line goes: standard error, as Django wraps it."""

    def write(self, text: str, *, ending: str = "\n") -> None:
        """Writes the text and what ends it."""

    def flush(self) -> None:
        """Shows what was written."""

    def isatty(self) -> bool:
        """Whether somebody looks on."""


@dataclass
class Progress:
    """Shows lines a second and, where the size is known, the share that is read and the time that is left.

    On a terminal it redraws a line twice a second; elsewhere it writes one every ten seconds. total: in bytes.
    """

    stream: Stream
    total: int | None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._is_drawn_over = self.stream.isatty()
        self._every = _ON_TERMINAL if self._is_drawn_over else _ELSEWHERE
        self._began = self._shown = self.clock()
        self._length = 0

    def tell(self, position: int, lines: int) -> None:
        """Says how many bytes and lines were read; shown where it is time to."""
        now = self.clock()
        if now - self._shown < self._every:
            return
        self._shown = now
        text = self._text(position, lines, max(now - self._began, 0.001))
        if self._is_drawn_over:
            self.stream.write("\r" + text.ljust(self._length), ending="")
            self.stream.flush()
            self._length = len(text)
        else:
            self.stream.write(text)

    def clear(self) -> None:
        """Makes room for another line."""
        if self._length:
            self.stream.write("\r" + " " * self._length + "\r", ending="")
            self._length = 0

    def _text(self, position: int, lines: int, seconds: float) -> str:
        told = f"{lines:,} lines, {lines / seconds:,.0f} a second"
        if not self.total or not position:
            return f"{_size(position)} read, {told}"
        share = min(position / self.total, 1.0)
        left = timedelta(seconds=round(seconds / share - seconds))
        filled = int(share * _WIDTH)
        drawn = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] " if self._is_drawn_over else ""
        return f"{drawn}{share:.0%} of {_size(self.total)}, {told}, {left} left"


def _size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < _KIB:
            return f"{number:.0f} {unit}"
        number /= _KIB
    return f"{number:.1f} GiB"
