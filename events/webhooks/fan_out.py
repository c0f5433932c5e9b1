"""Makes deliveries of the feeds' events for active endpoints (contract, section 10).

An endpoint remembers the position of the feed up to which its deliveries exist. Its row is locked meanwhile, so any
number of processes may do this.
"""

from datetime import timedelta

from django.db import transaction

from core.database import statements
from events.models import RECEIVES_EVENTS
from events.webhooks.leases import WITHOUT_FLUSH

# An endpoint's pending deliveries. Further events wait in the feed, so a dead endpoint does not fill the table.
MAX_PENDING = 10_000
# Events of an endpoint that are read at once.
BATCH = 500
# Less than events are kept for: the purge must not meet a new delivery of an event that it removes.
SENT_WITHIN = timedelta(days=29)

# Endpoints that are taken at once, at random: so the statement ends in time, however many are behind.
ENDPOINTS_AT_ONCE = 50
# Those of a disabled partner get their deliveries once it is enabled. A pause of more than MAX_PENDING milliseconds
# is left from before the clock was set back: it is ignored.
_LOCK = f"""
    SELECT array_agg(id), {WITHOUT_FLUSH} FROM (
        SELECT endpoint.id
          FROM events_webhookendpoint endpoint JOIN events_eventfeed feed USING (partner_id)
         WHERE {RECEIVES_EVENTS}
               AND feed.last_position > endpoint.position AND (endpoint.fan_out_after <= statement_timestamp()
                    OR endpoint.fan_out_after > statement_timestamp() + %s * interval '1 millisecond')
         ORDER BY random() LIMIT %s
           FOR NO KEY UPDATE OF endpoint SKIP LOCKED) AS locked
"""
# Counting costs about a microsecond for each pending delivery; a pause of a thousand times as long makes it cheap. Such
# an endpoint has enough to send meanwhile. Retries may make more than MAX_PENDING wait.
_MAKE = """
    WITH endpoints AS (
        SELECT id, partner_id, position, types,
               (SELECT count(*) FROM events_webhookdelivery delivery
                 WHERE delivery.endpoint_id = endpoint.id AND delivery.state = 'pending') AS pending
          FROM events_webhookendpoint endpoint WHERE id = ANY(%s::uuid[])
    ), taken AS (
        SELECT endpoints.id AS endpoint_id, event.*, types = '{}' OR type = ANY(types) AS is_wanted
          FROM endpoints CROSS JOIN LATERAL (
               SELECT id, event_id, type, user_id, created_at, position FROM events_event event
                WHERE event.partner_id = endpoints.partner_id AND event.position > endpoints.position
                ORDER BY event.position LIMIT greatest(0, least(%s::bigint, %s::bigint - endpoints.pending))) AS event
    ), made AS (
        INSERT INTO events_webhookdelivery (endpoint_id, event_id, event_uuid, type, user_id, position, attempts)
        SELECT endpoint_id, id, event_id, type, user_id, position, '[]'
          FROM taken WHERE is_wanted AND created_at > statement_timestamp() - %s::interval
         ORDER BY endpoint_id, position
    ), moved AS (
        UPDATE events_webhookendpoint endpoint
           SET position = coalesce((SELECT max(taken.position) FROM taken WHERE taken.endpoint_id = endpoints.id),
                                   endpoint.position),
               fan_out_after = statement_timestamp()
                               + least(endpoints.pending, %s::bigint) * interval '1 millisecond'
          FROM endpoints WHERE endpoint.id = endpoints.id
    )
    SELECT count(*) FROM taken
"""


def fan_out() -> int:
    """Make deliveries of the next events for up to ENDPOINTS_AT_ONCE active endpoints; return how many were taken.

    At most MAX_PENDING are pending for an endpoint.
    """
    with transaction.atomic():
        endpoints, _ = statements.fetch_one(_LOCK, (MAX_PENDING, ENDPOINTS_AT_ONCE)) or (None, None)
        if not endpoints:
            return 0
        # A statement of its own: only its snapshot shows what others made before they released the locks.
        (taken,) = statements.fetch_one(_MAKE, (endpoints, BATCH, MAX_PENDING, SENT_WITHIN, MAX_PENDING)) or (0,)
        return int(taken)
