"""Events of conversions and documents: what triggers write, and how the relay reads it (contract, section 10)."""

from partners.events.outbox import insert_entry, insert_entry_of_rows, json_object, wire_time
from partners.models import EventType

TRANSACTIONS_RECORDED = insert_entry_of_rows(EventType.TRANSACTIONS_RECORDED, source="inserted", time="created_at")
# One event for a user and transaction. A number of a transaction may come again in another cluster, to which a dump was
# restored; its time does not.
EVENTS_OF_TRANSACTIONS_RECORDED = f"""
    SELECT partner_id, min(id) AS id, user_id, min(type) AS type, min(created_at) AS created_at,
           {
    json_object(
        {
            "externalId": "(SELECT external_id FROM users_user WHERE users_user.id = recorded.user_id)",
            "userId": "user_id",
            "count": "count(*)",
            "oldestCreatedAt": wire_time("min(time)"),
            "newestCreatedAt": wire_time("max(time)"),
        }
    )
} AS data
      FROM (SELECT partner_id, id, type, created_at, transaction_id, transaction_time,
                   unnest(user_ids) AS user_id, unnest(times) AS time
              FROM taken WHERE type = '{EventType.TRANSACTIONS_RECORDED.value}') AS recorded
     GROUP BY partner_id, transaction_id, transaction_time, user_id
"""
DOCUMENT_PUBLISHED = insert_entry(
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
