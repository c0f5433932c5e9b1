"""SQL by which triggers of the apps above write to the outbox, in the transaction of the change (contract, section 10).

A statement that inserts thousands of rows writes one entry with their users and times: an import does little work for
its events. The relay makes the events of an entry (relay.py), by the SQL in EVENTS of the entry's type.
"""

from collections.abc import Mapping

from partners.models import EventType

_ONE = """
    SELECT partner_id, id, user_ids[1] AS user_id, type, created_at, data FROM taken WHERE type = '{kind}'
"""
# By type: a SELECT of the columns of _ONE from `taken`, the entries that the relay has taken from the outbox. Those of
# a transaction without `data` are always taken together. The apps above add theirs (AppConfig.ready).
EVENTS: dict[EventType, str] = {
    kind: _ONE.format(kind=kind.value) for kind in (EventType.STATUS_CHANGED, EventType.DOCUMENT_PUBLISHED)
}


def wire_time(expression: str) -> str:
    """The SQL of a timestamp as on the wire."""
    return f"""to_char({expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def json_object(values: Mapping[str, str]) -> str:
    """The SQL of a JSON object. values: expressions by name on the wire."""
    arguments = ", ".join(f"'{name}', {expression}" for name, expression in values.items())
    return f"jsonb_build_object({arguments})"


def insert_entry(kind: EventType, *, source: str, partner: str, user: str, data: Mapping[str, str]) -> str:
    """The SQL that writes an entry of one event.

    source: the text after FROM. partner, user: expressions of their ids. data: of the event, expressions by name.
    """
    return f"""
        INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)
        SELECT {partner}, '{kind.value}', ARRAY[{user}], {json_object(data)} FROM {source}
    """


def insert_entry_of_rows(kind: EventType, *, source: str, time: str) -> str:
    """The SQL that writes an entry for each partner of a statement's rows.

    source: the transition table, with `partner_id` and `user_id`. time: its column with the time of a row.
    """
    return f"""
        INSERT INTO partners_outboxentry (partner_id, type, user_ids, times, size)
        SELECT partner_id, '{kind.value}', array_agg(user_id), array_agg({time}), count(*)
          FROM {source} GROUP BY partner_id
    """
