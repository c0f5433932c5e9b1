"""What `doctor` looks at of documents: that the storage takes a file, gives it back and removes it."""

import secrets
import uuid
from contextlib import closing

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from partners.monitoring.found import Found, Result
from partners.monitoring.installation import register
from transactions.documents.downloads import STORAGE

_BYTES = 64


@register("storage")
def _storage() -> Found:
    storage, content = storages[STORAGE], secrets.token_bytes(_BYTES)
    advice = "Check DOCUMENT_STORAGE_URL, the storage's rights and its space."
    try:
        # Documents are below their partner's number.
        name = storage.save(f"doctor/{uuid.uuid4()}", ContentFile(content))
        try:
            with closing(storage.open(name)) as file:
                found = file.read()
        finally:
            storage.delete(name)
    except OSError as error:
        # Its text may contain an address.
        return Found(Result.FAILURE, f"The storage of documents failed: {type(error).__name__}.", advice)
    if found != content:
        return Found(Result.FAILURE, "The storage of documents gave back other bytes than it got.", advice)
    return Found(Result.OK, "The storage of documents took a file, gave it back and removed it.")
