"""What `check --deploy --database default` finds in the storage of documents."""

import secrets
import uuid
from contextlib import closing, suppress
from pathlib import Path

from django.core.checks import Error
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, storages

from partners.checks import Found, installation_check
from transactions.documents.downloads import STORAGE
from transactions.models import Document


@installation_check
def check_storage() -> Found:
    """Whether the storage takes a file, gives it back and removes it."""
    storage, content = storages[STORAGE], secrets.token_bytes(64)
    hint = "Check DOCUMENT_STORAGE_URL, the storage's rights and its space."
    if isinstance(storage, FileSystemStorage):
        folder = Path(storage.location)
        if not folder.is_dir():
            yield Error("The folder of documents does not exist: is it mounted?", hint=hint, id="psi.E021")
            return
        if not any(folder.iterdir()) and Document.objects.exists():
            yield Error("The folder of documents is empty: is it mounted?", hint=hint, id="psi.E021")
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
