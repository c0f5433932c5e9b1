"""The lines of a file or of standard input (docs/operations.md).

Memory stays below a few hundred KiB for any content: long lines are truncated.
"""

import errno
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from transactions.imports.lines import MAX_LINE_BYTES

STANDARD_INPUT = "standard input"
# Seconds after which the lines read so far are stored, although more may follow.
PAUSE = 1.0

_READ_BYTES = 256 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The first bytes of compressed files; their formats, and the programs that decompress them.
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "zcat"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstdcat"),
    b"PK\x03\x04": ("zip", "unzip -p"),
    b"BZh": ("bzip2", "bzcat"),
    b"\xfd7zX": ("xz", "xzcat"),
}
# The first bytes of texts in UTF-16, with a byte order mark or without, and the encoding's name for iconv.
_UTF_16 = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"{\0": "UTF-16LE", b"\0{": "UTF-16BE"}


class OtherFormatError(ValueError):
    """The source is not NDJSON as a whole; the text says how to import it."""


class Interrupted(Exception):  # noqa: N818 - not an error
    """Reading stops at the user's request."""


class Source:
    """A file, or standard input for `-`, read once. Raises OSError if it cannot be opened.

    name: of the file, without its folders. size: in bytes; None if unknown. position: the number of bytes read.
    command: the one that advice names.
    """

    def __init__(
        self, name: str, *, command: str = "import_conversions", interrupted: Callable[[], bool] = lambda: False
    ) -> None:
        self._is_file = name != "-"
        if not self._is_file and sys.stdin is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), STANDARD_INPUT)
        self._descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC) if self._is_file else sys.stdin.fileno()
        self._again = f"manage.py {command} -"
        self._interrupted = interrupted
        self.name = Path(name).name if self._is_file else STANDARD_INPUT
        self.position = 0
        status = os.fstat(self._descriptor)
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None
        if stat.S_ISDIR(status.st_mode):
            self.close()
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)

    def close(self) -> None:
        """Close a file; standard input stays open."""
        if self._is_file:
            os.close(self._descriptor)

    def is_same_file(self, path: Path) -> bool:
        """Whether this is the file at the path."""
        return path.exists() and os.path.samestat(path.stat(), os.fstat(self._descriptor))

    def lines(self) -> Iterator[tuple[int, bytes] | None]:
        """Lines that are not blank, numbered from 1; None about every PAUSE.

        Lines are truncated after MAX_LINE_BYTES + 1 bytes. Raises OtherFormatError, OSError and Interrupted; a line
        that is incomplete then is dropped.
        """
        number, begun = 0, b""
        for chunk in self._chunks():
            if not chunk:
                yield None
                continue
            if number == 0:
                _refuse_other_format(begun + chunk, self._again)
            pieces = chunk.split(b"\n")
            pieces[0] = begun + pieces[0]
            begun = pieces.pop()[: MAX_LINE_BYTES + 1]
            for piece in pieces:
                number += 1
                line = _truncated(number, piece)
                if line and not line.isspace():
                    yield number, line
        line = _truncated(number + 1, begun)
        if line and not line.isspace():
            yield number + 1, line

    def _chunks(self) -> Iterator[bytes]:
        """The bytes as they arrive; empty ones at pauses."""
        paused_at = time.monotonic()
        while True:
            is_ready = select.select([self._descriptor], [], [], PAUSE)[0]
            if self._interrupted():
                raise Interrupted
            if not is_ready or time.monotonic() - paused_at > PAUSE:
                yield b""
                paused_at = time.monotonic()
            if is_ready:
                chunk = os.read(self._descriptor, _READ_BYTES)
                if not chunk:
                    return
                self.position += len(chunk)
                yield chunk


def _truncated(number: int, line: bytes) -> bytes:
    return (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line)[: MAX_LINE_BYTES + 1]


def _refuse_other_format(start: bytes, again: str) -> None:
    """Raises OtherFormatError: each line of such a source would be rejected."""
    for magic, (name, program) in _COMPRESSED.items():
        if start.startswith(magic):
            raise OtherFormatError(f"The source is compressed with {name}. Decompress it: {program} FILE | {again}")
    for magic, encoding in _UTF_16.items():
        if start.startswith(magic):
            convert = f"iconv -f {encoding} -t UTF-8 FILE | {again}"
            raise OtherFormatError(f"The source is in UTF-16, not in UTF-8. Convert it: {convert}")
    if start.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
        raise OtherFormatError(
            f"The source is a JSON array, not one object a line. Convert it: jq -c '.[]' FILE | {again}"
        )
