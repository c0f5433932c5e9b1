"""`manage.py withdraw_document` and `publish_document --replace`: contract, section 7."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from backoffice.exports.records import documents
from events.models import Event
from staff.models import Staff
from tests.factories import NOON, StaffFactory
from tests.support.client import PartnerClient, Response
from tests.support.commands import outcome, refusal, run
from tests.support.documents import LONG, add_document
from tests.support.events import place_events
from tests.support.responses import assert_error
from tests.support.staff import client_as
from transactions.models import Document, DocumentWithdrawal
from users.models import User

pytestmark = pytest.mark.usefixtures("folder")

LIST = "/v1/users/ada/documents"


def withdraw(document: Document, by: Staff, *, reason: str = "Of another customer") -> dict[str, Any]:
    given = ("--reason", reason, "--by", by.username)
    withdrawn: dict[str, Any] = outcome("withdraw_document", str(document.document_id), *given)
    return withdrawn


def titles(api: PartnerClient, query: str = "") -> list[str]:
    return [item["title"] for item in api.get(LIST + query).json()["items"]]


def test_a_withdrawn_document_is_not_found_and_not_listed(api: PartnerClient, ada: User, reviewer: Staff) -> None:
    made = [add_document(ada, title=str(n), created_at=NOON - timedelta(hours=n)) for n in range(5)]
    cursor = api.get(f"{LIST}?limit=2").json()["nextCursor"]
    for document in (made[1], made[3]):
        assert withdraw(document, reviewer) == {"documentId": str(document.document_id)}
        assert_error(api.get(f"{LIST}/{document.document_id}"), 404)
    assert titles(api) == ["0", "2", "4"]
    # The cursor of a withdrawn document still works.
    page = api.get(f"{LIST}?limit=2&cursor={cursor}").json()
    assert ([item["title"] for item in page["items"]], page["nextCursor"]) == (["2", "4"], None)
    # It is withdrawn once.
    said = refusal("withdraw_document", str(made[3].document_id), "--reason", "x", "--by", reviewer.username)
    assert said == f"Document {made[3].document_id} is withdrawn already."
    # The partner learns of it by an event.
    place_events()
    event = Event.objects.order_by("position").last()
    assert event is not None
    data = {"externalId": "ada", "userId": str(ada.pk), "documentId": str(made[3].document_id)}
    assert (event.type, event.data) == ("user.documentWithdrawn", data)
    # A user whose documents are all withdrawn has none.
    for document in made[::2]:
        withdraw(document, reviewer)
    whole = api.get(LIST)
    assert (whole.status, whole.json()["items"], whole.json()["nextCursor"]) == (200, [], None)


def test_auditors_keep_the_document_with_who_and_why(ada: User, reviewer: Staff) -> None:
    document = add_document(ada)
    withdraw(document, reviewer, reason="Sent to the wrong person")
    auditor = client_as("auditor")
    page = auditor.get(f"/admin/transactions/document/{document.pk}/change/").content.decode()
    assert reviewer.username in page
    assert "Sent to the wrong person" in page
    assert auditor.get(f"/admin/transactions/document/{document.pk}/file/").status_code == 200
    (record,) = documents(ada, {})
    assert (record["withdrawnBy"], record["withdrawalReason"]) == (reviewer.username, "Sent to the wrong person")


def test_what_is_refused_is_one_line_and_withdraws_nothing(ada: User, reviewer: Staff) -> None:
    document = add_document(ada)

    def said(document_id: object = document.document_id, *, reason: str = "x", by: Staff = reviewer) -> str:
        return refusal("withdraw_document", str(document_id), "--reason", reason, "--by", by.username)

    for reason in ("", "  ", "x" * 2001):
        assert said(reason=reason).startswith("reason: "), reason
    assert said("nonsense") == "document: “nonsense” is not a valid UUID."
    assert said("5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4") == "Document not found."
    # Only an active account that may decide withdraws.
    viewer, former = StaffFactory.create(role="viewer"), StaffFactory.create(role="reviewer")
    Staff.objects.filter(pk=former.pk).update(is_active=False)
    for by in (viewer, former):
        assert "may not decide about users" in said(by=by)
    assert not DocumentWithdrawal.objects.exists()


def replacing(ada: User, document: Document, file: Path, *more: str) -> tuple[str, ...]:
    given = ("publish_document", ada.partner.slug, ada.external_id, str(file), "--type", "taxSlip", "--title", "New")
    return (*given, "--replace", str(document.document_id), *more)


def test_a_replacement_withdraws_and_publishes_together(
    api: PartnerClient, ada: User, reviewer: Staff, tmp_path: Path
) -> None:
    wrong = add_document(ada, title="Wrong")
    (tmp_path / "new.pdf").write_bytes(LONG)
    more = ("--reason", "Wrong year", "--by", reviewer.username)
    published = outcome(*replacing(ada, wrong, tmp_path / "new.pdf", *more))
    assert titles(api) == ["New"]
    assert (wrong.withdrawal.reason, wrong.withdrawal.by) == ("Wrong year", reviewer)
    assert api.get(f"{LIST}/{published['documentId']}").body == LONG


def test_a_replacement_that_is_refused_changes_nothing(
    api: PartnerClient, ada: User, reviewer: Staff, tmp_path: Path, create_user: Callable[..., Response]
) -> None:
    wrong = add_document(ada, title="Wrong")
    (tmp_path / "new.pdf").write_bytes(b"hello")
    (tmp_path / "good.pdf").write_bytes(LONG)
    create_user(externalId="bob")
    other = User.objects.get(external_id="bob", partner=ada.partner)
    more = ("--reason", "Wrong year", "--by", reviewer.username)
    assert "not a PDF" in refusal(*replacing(ada, wrong, tmp_path / "new.pdf", *more))
    assert "another user's" in refusal(*replacing(other, wrong, tmp_path / "good.pdf", *more))
    assert run(*replacing(ada, wrong, tmp_path / "good.pdf", "--reason", "x")).status == 2
    assert run(*replacing(ada, wrong, tmp_path / "good.pdf")[:-2], *more).status == 2
    assert (titles(api), Document.objects.count()) == (["Wrong"], 1)


def test_a_withdrawal_is_kept_as_it_was_made(ada: User, reviewer: Staff) -> None:
    withdraw(add_document(ada), reviewer)
    for statement in (
        "UPDATE transactions_documentwithdrawal SET reason = 'another'",
        "DELETE FROM transactions_documentwithdrawal",
        "INSERT INTO transactions_documentwithdrawal SELECT * FROM transactions_documentwithdrawal",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_its_time_is_the_databases(ada: User, reviewer: Staff) -> None:
    withdrawal = DocumentWithdrawal.objects.create(document=add_document(ada), by=reviewer, reason="x", created_at=NOON)
    withdrawal.refresh_from_db()
    assert withdrawal.created_at > withdrawal.document.recorded_at
