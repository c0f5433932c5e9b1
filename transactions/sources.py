"""What is imported, as lines: from a file or standard input, plain or packed with gzip or zstd (docs/operations.md).

How it is packed is told by its first bytes, not by its name. Nothing here holds more than a few MiB, whatever comes:
what unpacks to a thousand times its size is unpacked piece by piece, and a line without end is cut.
"""

import errno
import os
import select
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

import zstandard

from transactions.lines import LONGEST_LINE_BYTES

STANDARD_INPUT = "standard input"
# Seconds after which what has come is to be written, although more may be on its way.
PAUSE = 1.0

_READ_BYTES = 256 * 1024
_UNPACKED_BYTES = 1024 * 1024
# zstd has no limit on what a call gives: a block, of four bytes at least, unpacks to up to 128 KiB.
_ZSTD_BYTES = 256
# What the zstd tool itself takes without being asked to: --ultra -22 and --long.
_ZSTD_WINDOW = 128 * 1024 * 1024

_GZIP_MEMBER = 16 + zlib.MAX_WBITS
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIRST_BYTES = 4


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

        A line is cut behind LONGEST_LINE_BYTES + 1 bytes. Raises SourceProblem where what is packed is damaged or
        ends too early, OSError where reading fails, and Interrupted; a line that was cut off so is not given.
        """
        number, begun = 0, b""
        for chunk in _unpacked(self._read()):
            if not chunk:
                yield None
                continue
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


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """What the chunks hold, in chunks; an empty one is passed on."""
    first = b""
    for chunk in chunks:
        first += chunk
        if len(first) >= _FIRST_BYTES:
            break
        yield b""
    return (yield from _unpacker(first)(chain((first,), chunks)))


def _unpacker(first: bytes) -> Callable[[Iterable[bytes]], Iterator[bytes]]:
    """What reads a source that begins so. Raises SourceProblem for what is packed otherwise."""
    if first.startswith(b"\x1f\x8b"):
        return _gzip
    # Of zstd, a frame to be skipped may come first.
    if first.startswith(b"\x28\xb5\x2f\xfd") or (first[1:4] == b"\x2a\x4d\x18" and first[0] >> 4 == 5):  # noqa: PLR2004
        return _zstd
    for magic, name in ((b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\xfd7zX", "xz")):
        if first.startswith(magic):
            raise SourceProblem(f"it is packed with {name}; gzip and zstd can be read, and plain text")
    return iter


def _gzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Members of gzip, one after the other, and what zeros a tape may have added."""
    member = zlib.decompressobj(_GZIP_MEMBER)
    for chunk in chunks:
        if not chunk:
            yield b""
        packed = chunk
        while packed:
            try:
                unpacked = member.decompress(packed, _UNPACKED_BYTES)
            except zlib.error:
                raise SourceProblem("the gzip data are damaged") from None
            if unpacked:
                yield unpacked
            packed = member.unconsumed_tail
            if member.eof:
                packed = member.unused_data.lstrip(b"\0")
                member = zlib.decompressobj(_GZIP_MEMBER) if packed else member
    if not member.eof:
        raise SourceProblem("the gzip data end too early")


def _zstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Frames of zstd, one after the other."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = decompressor.decompressobj()
    for chunk in chunks:
        if not chunk:
            yield b""
        for start in range(0, len(chunk), _ZSTD_BYTES):
            packed = chunk[start : start + _ZSTD_BYTES]
            while packed:
                frame = decompressor.decompressobj() if frame.eof else frame
                try:
                    unpacked = frame.decompress(packed)
                except zstandard.ZstdError:
                    raise SourceProblem("the zstd data are damaged, or need more than 128 MiB of memory") from None
                packed = frame.unused_data
                for begin in range(0, len(unpacked), _UNPACKED_BYTES):
                    yield unpacked[begin : begin + _UNPACKED_BYTES]
    if not frame.eof:
        raise SourceProblem("the zstd data end too early")
