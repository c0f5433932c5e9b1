"""A user's documents: contract, section 7."""

import hashlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.client import PartnerClient, Response
from tests.support.documents import NOON, add_document, add_documents
from tests.support.responses import failing_fields
from transactions.models import Document
from users.models import User

LIST = "/v1/users/ada/documents"


def ids(response: Response) -> list[str]:
    assert response.status == 200, response.body
    return [item["documentId"] for item in response.json()["items"]]


def hours(count: int) -> list[datetime]:
    return [NOON + timedelta(hours=hour) for hour in range(count)]


def test_a_list_is_shown_in_its_exact_form(api: PartnerClient, ada: User, folder: Path) -> None:
    assert api.get(LIST).json() == {"externalId": "ada", "userId": str(ada.pk), "nextCursor": None, "items": []}
    moment = datetime(2026, 1, 15, 10, 30, 0, 123, tzinfo=UTC)
    given = {"type": "taxSlip", "title": "Feuillet T5 – 2025", "content_type": "text/csv", "created_at": moment}
    made = add_document(ada, b"one,two\n", **given)
    assert api.get(LIST).json() == {
        "externalId": "ada",
        "userId": str(ada.pk),
        "nextCursor": None,
        "items": [
            {
                "documentId": str(made.document_id),
                "createdAt": "2026-01-15T10:30:00.000123Z",
                "type": "taxSlip",
                "title": "Feuillet T5 – 2025",
                "contentType": "text/csv",
                "sizeBytes": 8,
                "sha256": hashlib.sha256(b"one,two\n").hexdigest(),
            }
        ],
    }


def test_a_list_and_its_cursors_are_of_the_user_alone(
    api: PartnerClient, ada: User, create_user: Callable[..., Response]
) -> None:
    bob = User.objects.get(pk=create_user(externalId="bob").json()["userId"])
    hers, his = add_documents(ada, [NOON]), add_documents(bob, hours(2))
    assert ids(api.get(LIST)) == [str(hers[0].document_id)]
    assert ids(api.get("/v1/users/bob/documents")) == [str(one.document_id) for one in reversed(his)]
    cursor = api.get("/v1/users/bob/documents?limit=1").json()["nextCursor"]
    assert failing_fields(api.get(f"{LIST}?cursor={cursor}")) == ["cursor"]


def test_pages_hold_each_document_once_newest_first_ties_or_not(api: PartnerClient, ada: User) -> None:
    add_documents(ada, [*hours(4), *[NOON] * 4])
    later = itertools.count(9)
    for limit in (1, 3, 100):
        in_order = Document.objects.filter(user=ada).order_by("-created_at", "-tiebreak")
        expected = [str(one) for one in in_order.values_list("document_id", flat=True)]
        seen, query = list[str](), f"limit={limit}"
        while query:
            response = api.get(f"{LIST}?{query}")
            seen += ids(response)
            cursor = response.json()["nextCursor"]
            query = f"limit={limit}&cursor={cursor}" if cursor else ""
            # What arrives meanwhile neither hides nor repeats one.
            add_documents(ada, [NOON + timedelta(days=next(later))])
        assert seen == expected, limit
