"""Deletes the files of documents that went with their users, after the commit."""

import structlog
from django.core.files.storage import storages

from transactions.documents.downloads import STORAGE
from transactions.models import ErasedFile

log = structlog.get_logger("transactions.documents.erased_files")

# A storage that fails for so many files in a row is not asked for the others: each may wait for seconds.
MAX_FAILURES = 3


def delete_files(*, using: str) -> int:
    """Delete them; returns how many are left, because the storage failed: for the next run.

    using: the alias of the owner's connection.
    """
    waiting = ErasedFile.objects.using(using)
    failures = 0
    # At random, so that the same few files never keep the others from their turn.
    for erased in waiting.order_by("?"):
        try:
            # A file that is not there is no failure.
            storages[STORAGE].delete(erased.storage_name)
        except OSError as error:
            failures += 1
            log.warning("a file of an erased document is left", file=erased.storage_name, exc_info=error)
            if failures == MAX_FAILURES:
                break
        else:
            failures = 0
            erased.delete()
    return waiting.count()
