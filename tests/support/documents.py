"""Documents of tests: published by the service's function, into a folder of the test."""

import io
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project_settings
from pytest_django import Settings

from config.document_storage import document_storage
from transactions.documents.downloads import CHUNK_BYTES
from transactions.documents.publishing import publish
from transactions.models import Document
from users.models import User

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
# More than two pieces, so that the first is sent before the last is known.
LONG = bytes(range(256)) * (5 * CHUNK_BYTES // 256) + b"the end"


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    """The folder of this test's documents."""
    kept = tmp_path / "documents"
    settings.STORAGES = stored_at(kept.as_uri())
    return kept


def stored_at(url: str) -> dict[str, Any]:
    """Return STORAGES with this DOCUMENT_STORAGE_URL."""
    documents = document_storage(url, default=None)
    return project_settings.STORAGES | {"documents": documents}


def add_document(user: User, content: bytes = b"%PDF-1.7 statement", **fields: Any) -> Document:
    """Publish a document."""
    values: dict[str, Any] = {
        "kind": "accountStatement",
        "title": "March 2026",
        "content_type": "application/pdf",
        "created_at": NOON,
    }
    return publish(user=user, source=io.BytesIO(content), **(values | fields))


def add_rows(user: User, times: Iterable[datetime], **fields: Any) -> list[Document]:
    """Create documents without a file, one at each time: for tests of lists."""
    return [Document.objects.create(**document_fields(user, created_at=time, **fields)) for time in times]


def document_fields(user: User, **fields: Any) -> dict[str, Any]:
    """Return the columns of a document."""
    return {
        "partner": user.partner,
        "user": user,
        "created_at": NOON,
        "type": "accountStatement",
        "title": "March 2026",
        "content_type": "application/pdf",
        "size_bytes": 10,
        "sha256": b"\x07" * 32,
        "storage_name": f"absent/{uuid.uuid4()}",
    } | fields


def path_of(folder: Path, document: Document) -> Path:
    """Return the path of a document's file."""
    return folder / document.storage_name
