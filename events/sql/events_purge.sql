-- The other way to change a feed: removes up to `batch` events from the beginning of a partner's, up to the first that
-- is not older than 30 days (contract, section 10): events of transactions that overlapped may differ from the feed's
-- order in their times. Deliveries refer to their events; the constraint is checked at the end of the transaction.
CREATE OR REPLACE FUNCTION events_purge(partner bigint, batch integer, OUT purged bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH oldest AS (
        SELECT event.id, event.position, event.created_at < now() - interval '30 days' AS expired
          FROM events_eventfeed feed
          JOIN events_event event ON event.partner_id = feed.partner_id AND event.position > feed.purged_position
         WHERE feed.partner_id = partner
         ORDER BY event.position LIMIT batch
    ), expired AS (
        SELECT id, position FROM oldest
         WHERE position < COALESCE((SELECT min(position) FROM oldest WHERE NOT expired), 9223372036854775807)
    ), deliveries AS (
        DELETE FROM events_webhookdelivery WHERE event_id IN (SELECT id FROM expired)
    ), feed AS (
        UPDATE events_eventfeed SET purged_position = (SELECT max(position) FROM expired), updated_at = now()
         WHERE partner_id = partner AND purged_position < (SELECT max(position) FROM expired)
    ), deleted AS (
        DELETE FROM events_event WHERE id IN (SELECT id FROM expired) RETURNING id
    )
    SELECT count(*) FROM deleted
$$;
REVOKE ALL ON FUNCTION events_purge(bigint, integer) FROM PUBLIC;
