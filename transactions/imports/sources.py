"""What is imported, as lines: from a file or standard input (docs/operations.md).

Nothing here holds more than a few hundred KiB, whatever comes: a line without end is cut.
"""

import errno
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from transactions.imports.lines import LONGEST_LINE_BYTES

STANDARD_INPUT = "standard input"
# Seconds after which what has come is to be written, although more may be on its way.
PAUSE = 1.0

_READ_BYTES = 256 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What compressed files begin with.
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zX": "xz",
}


class SourceProblem(ValueError):  # noqa: N818 - a finding about the input, not an error of the program
    """Why a source cannot be read on. It never repeats what the source holds."""


class Interrupted(Exception):  # noqa: N818 - nothing is wrong
    """Somebody wants the reading to end."""


class Source:
    """A file, or standard input for `-`, read once. Raises OSError where it cannot be opened.

    name: the file's own, without its folders. size: in bytes, as it lies there; None where nobody knows.
    position: how many of these bytes were read.
    """

    def __init__(self, name: str, *, interrupted: Callable[[], bool] = lambda: False) -> None:
        self._is_own = name != "-"
        self._file = os.open(name, os.O_RDONLY | os.O_CLOEXEC) if self._is_own else sys.stdin.fileno()
        self._interrupted = interrupted
        self.name = Path(name).name if self._is_own else STANDARD_INPUT
        self.position = 0
        status = os.fstat(self._file)
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None
        if stat.S_ISDIR(status.st_mode):
            self.close()
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; standard input is not ours."""
        if self._is_own:
            os.close(self._file)

    def is_same_file(self, path: Path) -> bool:
        """Whether the path names what is read here."""
        return path.exists() and os.path.samestat(path.stat(), os.fstat(self._file))

    def lines(self) -> Iterator[tuple[int, bytes] | None]:
        """The lines that hold anything, numbered from 1; None about every PAUSE, and where nothing comes.

        A line is cut behind LONGEST_LINE_BYTES + 1 bytes. Raises SourceProblem for a compressed source, OSError where
        reading fails, and Interrupted; a line that was cut off so is not given.
        """
        number, begun = 0, b""
        for chunk in self._read():
            if not chunk:
                yield None
                continue
            if number == 0:
                _require_plain(begun + chunk)
            pieces = chunk.split(b"\n")
            pieces[0] = begun + pieces[0]
            begun = pieces.pop()[: LONGEST_LINE_BYTES + 1]
            for piece in pieces:
                number += 1
                line = _cut(number, piece)
                if line and not line.isspace():
                    yield number, line
        line = _cut(number + 1, begun)
        if line and not line.isspace():
            yield number + 1, line

    def _read(self) -> Iterator[bytes]:
        """The bytes as they come; none where it is time for a pause."""
        rested = time.monotonic()
        while True:
            ready = select.select([self._file], [], [], PAUSE)[0]
            if self._interrupted():
                raise Interrupted
            if not ready or time.monotonic() - rested > PAUSE:
                yield b""
                rested = time.monotonic()
            if ready:
                chunk = os.read(self._file, _READ_BYTES)
                if not chunk:
                    return
                self.position += len(chunk)
                yield chunk


def _cut(number: int, line: bytes) -> bytes:
    return (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line)[: LONGEST_LINE_BYTES + 1]


def _require_plain(first: bytes) -> None:
    """Raises SourceProblem for what begins like a compressed file; each of its lines would be rejected."""
    for magic, name in _COMPRESSED.items():
        if first.startswith(magic):
            raise SourceProblem(f"it is compressed with {name}: decompress it into import_conversions -")
