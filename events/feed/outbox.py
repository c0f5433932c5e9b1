"""SQL by which triggers of the apps above write to the outbox, in the transaction of the change (contract, section 10).

A statement that inserts thousands of rows writes one entry with their users and times: an import does little work for
its events. An entry has all that its events need, so events_place treats all types alike (relay.py).
"""

from collections.abc import Mapping

from core.database.triggers import json_object
from events.models import EventType


def insert_entry(kind: EventType, *, source: str, partner: str, user: str, data: Mapping[str, str]) -> str:
    """The SQL that writes an entry of one event.

    source: the text after FROM. partner, user: expressions of their ids. data: of the event, expressions by name.
    """
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, data)
        SELECT {partner}, '{kind.value}', ARRAY[{user}], {json_object(data)} FROM {source}
    """


def insert_entry_of_rows(kind: EventType, *, source: str, external_id: str, time: str) -> str:
    """The SQL that writes an entry for each partner of a statement's rows.

    Its events have the count of a user's rows in the transaction, and the oldest and newest of their times.

    source: the transition table, with `partner_id` and `user_id`. external_id, time: expressions for a row.
    """
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, external_ids, times, size)
        SELECT partner_id, '{kind.value}', array_agg(user_id), array_agg({external_id}), array_agg({time}), count(*)
          FROM {source} GROUP BY partner_id
    """
