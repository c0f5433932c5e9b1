"""A folder of this machine."""

import os
import stat
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage


class DocumentFolder(FileSystemStorage):
    """Files below one folder, written through to the disk: a row says that its file is kept."""

    def _open(self, name: str, mode: str = "rb") -> Any:
        """For reading only."""
        # A disk that is not mounted is not a file that somebody removed.
        if not Path(self.location).is_dir():
            raise NotADirectoryError("The folder of documents is not there.")
        # A link leads out of the folder, and who reads a pipe waits for ever.
        descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, mode)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.close()
            raise OSError("What is kept under the name of a document is no file.")
        return File(file)

    def _save(self, name: str, content: IO[Any]) -> str:
        saved = str(super()._save(name, content))  # type: ignore[misc]
        path = Path(self.path(saved))
        for kept in (path, path.parent, path.parent.parent):
            _flush(kept)
        return saved


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
