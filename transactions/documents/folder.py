"""A local folder."""

import os
import stat
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage


class DocumentFolder(FileSystemStorage):
    """Files below one folder, flushed to the disk before the document's row is written."""

    def _open(self, name: str, mode: str = "rb") -> Any:
        # A disk that is not mounted is a failure of the storage, not a missing file.
        if not Path(self.location).is_dir():
            raise NotADirectoryError("The folder of documents does not exist.")
        # A link could lead out of the folder, and reading a pipe could block forever.
        descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, mode)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.close()
            raise OSError("Not a regular file.")
        return File(file)

    def delete(self, name: str) -> None:
        """Remove a file; one that is not there is no failure, but a disk that is not mounted is."""
        # An unmounted mount point is an empty folder.
        if not any(Path(self.location).glob("*")):
            raise NotADirectoryError("The folder of documents does not exist, or is empty.")
        super().delete(name)

    def _save(self, name: str, content: IO[Any]) -> str:
        saved = str(super()._save(name, content))  # type: ignore[misc]
        path = Path(self.path(saved))
        for each in (path, path.parent, path.parent.parent):
            _flush(each)
        return saved


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
