"""Documents of tests: published by the service's function, into a folder of the test."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project_settings
from pytest_django import Settings

from config.setting_types import document_storage
from tests.factories import NOON, DocumentFactory, add_documents
from tests.support.metrics import totals
from transactions.documents.downloads import CHUNK_BYTES
from transactions.models import Document
from users.models import User

__all__ = ("NOON", "add_documents")

# More than two pieces, so that the first is sent before the last is known.
LONG = b"%PDF-1.7 " + bytes(range(256)) * (5 * CHUNK_BYTES // 256) + b"%%EOF"

Faults = Callable[[], Counter[str]]


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    """The folder of this test's documents."""
    kept = tmp_path / "documents"
    settings.STORAGES = stored_at(kept.as_uri())
    return kept


@pytest.fixture
def faults() -> Faults:
    """How many downloads failed in this test, by cause, as metrics have it."""

    def counted() -> Counter[str]:
        return totals("psi_document_faults_total", "cause")

    before = counted()
    return lambda: counted() - before


def stored_at(url: str) -> dict[str, Any]:
    """Return STORAGES with this DOCUMENT_STORAGE_URL."""
    documents = document_storage(url, default=None)
    return project_settings.STORAGES | {"documents": documents}


def add_document(user: User, content: bytes = b"%PDF-1.7 statement %%EOF", **fields: Any) -> Document:
    """Publish a document: a PDF if the content is one, else bytes of no known type."""
    is_pdf = content.startswith(b"%PDF") and content.rstrip(b"\r\n").endswith(b"%%EOF")
    fields.setdefault("content_type", "application/pdf" if is_pdf else "application/octet-stream")
    return DocumentFactory.create(user=user, content=content, **fields)


def path_of(folder: Path, document: Document) -> Path:
    """Return the path of a document's file."""
    return folder / document.storage_name
