"""SQL by which triggers of the apps above write events, in the transaction of the change (contract, section 10)."""

from collections.abc import Mapping

from partners.models import EventType

_COLUMNS = "partner_id, user_id, type, data"


def wire_time(expression: str) -> str:
    """The SQL of a timestamp as on the wire."""
    return f"""to_char({expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def insert_event(kind: EventType, *, source: str, partner: str, user: str, data: Mapping[str, str]) -> str:
    """The SQL that writes an event for each row of `source`.

    source: the text after FROM. partner, user: expressions of their ids. data: expressions by name on the wire.
    """
    return f"""
        INSERT INTO partners_event ({_COLUMNS})
        SELECT {partner}, {user}, '{kind.value}', {_json(data)} FROM {source}
    """


def insert_or_merge_transactions(*, source: str, partner: str, user: str, data: Mapping[str, str]) -> str:
    """As `insert_event`, merged with the event of the same user and database transaction.

    data: with `count`, `oldestCreatedAt` and `newestCreatedAt`, whose texts sort as the times do.
    """
    insert = insert_event(EventType.TRANSACTIONS_RECORDED, source=source, partner=partner, user=user, data=data)
    stored, added = "partners_event.data", "excluded.data"
    merged = {
        "count": f"({stored}->>'count')::bigint + ({added}->>'count')::bigint",
        "oldestCreatedAt": f"least({stored}->>'oldestCreatedAt', {added}->>'oldestCreatedAt')",
        "newestCreatedAt": f"greatest({stored}->>'newestCreatedAt', {added}->>'newestCreatedAt')",
    }
    return f"""
        {insert}
            ON CONFLICT (user_id, transaction_id)
               WHERE position IS NULL AND type = '{EventType.TRANSACTIONS_RECORDED.value}'
            DO UPDATE SET data = {stored} || {_json(merged)}
    """


def _json(data: Mapping[str, str]) -> str:
    arguments = ", ".join(f"'{name}', {expression}" for name, expression in data.items())
    return f"jsonb_build_object({arguments})"
