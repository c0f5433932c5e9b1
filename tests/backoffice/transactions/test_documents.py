"""The back office of documents."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from backoffice.exports.records import documents
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.documents import LONG, NOON, Faults, add_document, add_documents, path_of
from tests.support.staff import client_as, client_of, list_of
from transactions.documents.downloads import DocumentError
from transactions.models import Document
from users.models import AccessKind, AccessRecord, User

pytestmark = pytest.mark.usefixtures("folder")

DOCUMENTS = "/admin/transactions/document/"


@pytest.fixture
def document(user: User) -> Document:
    return add_document(user, LONG, title="Relevé 2026")


def page_of(document: Document) -> str:
    return f"{DOCUMENTS}{document.pk}/change/"


def file_of(document: Document) -> str:
    return f"{DOCUMENTS}{document.pk}/file/"


def exports() -> list[tuple[str, str]]:
    return list(AccessRecord.objects.filter(kind=AccessKind.EXPORTED).values_list("staff__username", "detail"))


def test_a_viewer_sees_what_the_api_shows_of_a_document_and_not_its_file_or_where_it_is(document: Document) -> None:
    client = client_as("viewer")
    assert [client.get(path).status_code for path in (DOCUMENTS, file_of(document))] == [200, 403]
    page = client.get(page_of(document)).content.decode()
    for text in (str(document.document_id), "Relevé 2026", "Account statement", bytes(document.sha256).hex()):
        assert text in page
    assert document.storage_name not in page
    assert file_of(document) not in page
    assert exports() == []


def test_a_download_is_the_file_and_stands_in_the_access_log(document: Document, reviewer: Staff) -> None:
    response = client_of(reviewer).get(file_of(document))
    # Before its first byte is read.
    assert exports() == [(reviewer.username, f"Document {document.document_id}")]
    assert response.getvalue() == LONG
    assert response.headers["Content-Type"] == "application/pdf"
    assert response.headers["Content-Length"] == str(len(LONG))
    assert response.headers["Content-Disposition"].startswith("attachment; filename*=")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in response.headers["Cache-Control"]
    record = AccessRecord.objects.get()
    assert (record.user, record.request_id) == (document.user, response.headers["X-Request-Id"])


def test_a_file_that_was_changed_does_not_reach_staff_either(document: Document, folder: Path, faults: Faults) -> None:
    path_of(folder, document).write_bytes(LONG[:-1] + b"!")
    with pytest.raises(DocumentError):
        client_as("auditor").get(file_of(document)).getvalue()
    assert faults() == {"other bytes": 1}


def test_a_file_that_is_gone_leads_back_to_the_page_which_tells(
    document: Document, folder: Path, faults: Faults
) -> None:
    path_of(folder, document).unlink()
    client = client_as("reviewer")
    assert client.get(file_of(document)).headers["Location"] == page_of(document)
    response: Any = client.get(file_of(document), follow=True)
    page = response.content.decode()
    assert "This document could not be sent: The file is not there" in page
    assert faults() == {"missing": 2}


def test_there_is_no_file_of_no_document(user: User) -> None:
    assert client_as("auditor").get(f"{DOCUMENTS}999999/file/").status_code == 404
    assert exports() == []


def test_filters_and_search_find_exactly(user: User, reviewer: Staff) -> None:
    mine, earlier = add_documents(user, [NOON, NOON - timedelta(days=1)])
    (others,) = add_documents(factories.UserFactory.create(partner=user.partner), [NOON])
    (elsewhere,) = add_documents(factories.UserFactory.create(), [NOON - timedelta(days=2)])

    def found(**query: str) -> list[Document]:
        return list(list_of(reviewer, DOCUMENTS, **query).result_list)

    assert found() == [others, mine, earlier, elsewhere]
    assert found(since=f"{NOON:%Y-%m-%d}") == [others, mine]
    assert found(q=str(user.pk)) == found(q="ada") == [mine, earlier]
    assert found(q="nobody") == []
    assert found(partner__id__exact=str(user.partner_id)) == [others, mine, earlier]
    assert found(q=str(mine.document_id)) == [mine]
    assert found(q=str(mine.document_id)[:-1]) == []


# Where a user is looked at


def test_a_case_shows_the_latest_to_who_may_see_them(user: User) -> None:
    add_document(user, b"%PDF", title="The older", created_at=NOON)
    newer = add_document(user, LONG, title="The <newer>", type="taxSlip", created_at=NOON + timedelta(days=1))
    page = client_as("viewer").get(f"/admin/cases/{user.pk}/").content.decode()
    assert 0 < page.index("The &lt;newer&gt;") < page.index("The older")
    assert f'href="{page_of(newer)}"' in page
    assert "Tax slip" in page


def test_the_evidence_pack_lists_what_the_api_lists(user: User, api: PartnerClient) -> None:
    add_documents(user, [NOON, NOON, NOON, NOON + timedelta(hours=1), NOON - timedelta(hours=1)])
    assert list(documents(user, {})) == api.get("/v1/users/ada/documents").json()["items"]
