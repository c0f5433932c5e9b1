"""Events of conversions and documents: what triggers write (contract, section 10)."""

from core.database.query import wire_time
from events.models import EventType
from events.models.feed import outbox_entry, outbox_entry_of_rows

TRANSACTIONS_RECORDED = outbox_entry_of_rows(
    EventType.TRANSACTIONS_RECORDED,
    source="inserted",
    external_id="(SELECT u.external_id FROM users_user u WHERE u.id = user_id)",
    time="created_at",
)
DOCUMENT_PUBLISHED = outbox_entry(
    EventType.DOCUMENT_PUBLISHED,
    source="users_user u WHERE u.id = NEW.user_id",
    partner="u.partner_id",
    user="u.id",
    data={
        "externalId": "u.external_id",
        "userId": "u.id",
        "documentId": "NEW.document_id",
        "type": "NEW.type",
        "createdAt": wire_time("NEW.created_at"),
    },
)
DOCUMENT_WITHDRAWN = outbox_entry(
    EventType.DOCUMENT_WITHDRAWN,
    source="transactions_document d JOIN users_user u ON u.id = d.user_id WHERE d.id = NEW.document_id",
    partner="u.partner_id",
    user="u.id",
    data={"externalId": "u.external_id", "userId": "u.id", "documentId": "d.document_id"},
)
