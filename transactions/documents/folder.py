"""A local folder of documents, and the check of the storage that is configured."""

import os
import secrets
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from django.core.checks import Error
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, storages

from partners.checks import Found, installation_check
from transactions.documents.downloads import STORAGE
from transactions.models import Document


class DocumentFolder(FileSystemStorage):
    """Files below one folder, flushed to the disk before the document's row is written."""

    def _open(self, name: str, mode: str = "rb") -> Any:
        # A disk that is not mounted is a failure of the storage, not a missing file.
        if not Path(self.location).is_dir():
            raise NotADirectoryError("The folder of documents does not exist.")
        # A link could lead out of the folder, and reading a pipe could block forever.
        path = Path(self.path(name))
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OSError("Not a regular file.")
        return super()._open(name, mode)  # type: ignore[misc]

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
            descriptor = os.open(each, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        return saved


@installation_check
def check_storage() -> Found:
    """Whether the storage takes a file, gives it back and removes it."""
    storage, content = storages[STORAGE], secrets.token_bytes(64)
    hint = "Check DOCUMENT_STORAGE_URL, the storage's rights and its space."
    if isinstance(storage, FileSystemStorage):
        folder = Path(storage.location)
        # An unmounted mount point is an empty folder.
        if not folder.is_dir() or (not any(folder.iterdir()) and Document.objects.exists()):
            yield Error("The folder of documents does not exist, or is empty: is it mounted?", hint=hint, id="psi.E021")
            return
    # Beside the folders of partners, so that an empty folder stays empty.
    name = f"check-{uuid.uuid4()}"
    try:
        name = storage.save(name, ContentFile(content))
        with closing(storage.open(name)) as file:
            found = file.read()
    except OSError as error:
        yield Error(f"The storage of documents failed: {type(error).__name__}.", hint=hint, id="psi.E022")
    else:
        if found != content:
            yield Error("The storage of documents returned other bytes than it got.", hint=hint, id="psi.E023")
    finally:
        # A full storage has a part of it.
        with suppress(OSError):
            storage.delete(name)
