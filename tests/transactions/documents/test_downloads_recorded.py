"""Who downloaded a document: in the audit log, and on the document's page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from structlog.testing import capture_logs

from core.database import statements
from core.models import AuditEntry
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.documents import LONG, add_document, folder
from tests.support.staff import client_of
from transactions.documents.downloads import DOWNLOADED
from transactions.models import Document
from users.models import User

__all__ = ("folder",)


@pytest.fixture
def document(create_user: Callable[..., Response], folder: Path) -> Document:
    return add_document(User.objects.get(pk=create_user(externalId="ada").json()["userId"]), LONG)


def entries(document: Document) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=DOWNLOADED, object=document.document_id).order_by("id"))


def download(api: PartnerClient, document: Document) -> Response:
    return api.get(f"/v1/users/ada/documents/{document.document_id}")


def test_a_download_names_who_and_repeated_ones_are_one_line(api: PartnerClient, document: Document) -> None:
    response = download(api, document)
    assert response.body == LONG
    for _ in range(2):
        assert download(api, document).status == 200
    staff, slug = factories.StaffFactory.create(role="reviewer"), document.partner.slug
    client = client_of(staff)
    for _ in range(2):
        sent: Any = client.get(f"/admin/transactions/document/{document.pk}/file/")
        assert b"".join(sent.streaming_content) == LONG
    of_partner, of_staff = entries(document)
    assert (of_partner.actor, of_partner.actor_kind) == (slug, "partner")
    [key] = document.partner.api_keys.all()
    named = {"key": key.prefix, "requestId": response.header("X-Request-Id")}
    assert of_partner.detail == named | {"partner": slug, "externalId": "ada"}
    assert (of_staff.actor, of_staff.actor_kind) == (staff.username, "staff")


def test_a_file_that_cannot_be_sent_is_no_download(api: PartnerClient, document: Document, folder: Path) -> None:
    (folder / document.storage_name).unlink()
    assert download(api, document).status == 500
    assert entries(document) == []


def test_without_writes_it_is_sent_and_logged(
    api: PartnerClient, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = statements.run

    def refuse(sql: str, parameters: Any) -> int:
        if "INSERT INTO core_auditentry" in sql:
            raise DatabaseError
        return run(sql, parameters)

    monkeypatch.setattr(statements, "run", refuse)
    with capture_logs() as lines:
        assert download(api, document).body == LONG
    assert [line["document"] for line in lines if line["event"] == "document download could not be recorded"] == [
        str(document.document_id)
    ]


def test_the_documents_page_leads_to_the_audit_log_which_shows_who(api: PartnerClient, document: Document) -> None:
    auditor = client_of(factories.StaffFactory.create(role="auditor"))
    page = f"/admin/transactions/document/{document.pk}/"
    download(api, document)
    assert f'href="{page}history/"' in auditor.get(f"{page}change/").content.decode()
    log = auditor.get(f"{page}history/", follow=True).content.decode()
    assert "Document downloaded" in log
    assert document.partner.slug in log
