"""The prepared statements on a user's conversions and documents that requests under /v1 need."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.database import statements
from core.database.query import Query, wire_time
from partners.api.lists import KeysetList
from transactions.models import Conversion, Document

_OF_USER: dict[str, Any] = {
    "owner": "SELECT id FROM users_user WHERE partner_id = %s AND external_id = %s",
    "of_owner": "user_id = owner.id",
    "key": {"created_at": "timestamptz", "tiebreak": "bigint"},
    "shows": "owner.id::text",
}
_NOT_WITHDRAWN = """NOT EXISTS (SELECT FROM transactions_documentwithdrawal AS withdrawal
                                 WHERE withdrawal.document_id = transactions_document.id)"""

CONVERSIONS = KeysetList(table="transactions_conversion", item=Conversion.wire, **_OF_USER)
# Staff see all of them, the partner those that were not withdrawn.
PUBLISHED_DOCUMENTS = KeysetList(table="transactions_document", item=Document.wire, **_OF_USER)
DOCUMENTS = replace(PUBLISHED_DOCUMENTS, is_listed=_NOT_WITHDRAWN)


class RecordedConversion(NamedTuple):
    """A conversion, as JSON with what it is found by and ordered by."""

    conversion_id: str
    created_at: str
    item: str


_CONVERSIONS_BY_ID = f"""
    SELECT conversion_id, {wire_time("created_at")}, {Conversion.wire} FROM transactions_conversion
     WHERE partner_id = %s AND conversion_id = ANY(%s::text[])
"""
_DOCUMENT = f"SELECT {Document.wire} FROM transactions_document WHERE id = %s"


def conversions_by_id(partner_id: int, conversion_ids: Sequence[str]) -> list[RecordedConversion]:
    """The partner's conversions with these conversionIds, in any order."""
    return statements.fetch(Query(_CONVERSIONS_BY_ID, (partner_id, list(conversion_ids)), RecordedConversion._make))


def document_item(document: Document) -> str:
    """A document as its list has it."""
    [(item,)] = statements.fetch_all(_DOCUMENT, (document.pk,))
    return str(item)
