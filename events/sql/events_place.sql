-- One of the two ways to change a feed: the serving role may execute them, and has no rights on the tables but SELECT.
--
-- Makes events of a partner's entries of the outbox, at the next positions of its feed, and their deliveries to the
-- endpoints that are active. Entries without `data` become one event for each user and transaction: the caller names
-- all of a transaction. While another session does this for the partner, nothing is placed. A failure undoes all but
-- the mark that the feed is stopped, and is returned: its SQLSTATE, and the constraint.
--
-- The lock ends with the one statement that calls it, whatever becomes of the caller. 2: the kind of these locks.
CREATE OR REPLACE FUNCTION events_place(partner bigint, entries bigint[], OUT placed bigint, OUT failure text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    wire_time CONSTANT text := 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"';
    violated text;
BEGIN
    placed := 0;
    IF NOT pg_try_advisory_xact_lock(2, hashint8(partner)) THEN
        RETURN;
    END IF;
    -- A statement of its own, whose snapshot shows what the holder before has placed.
    WITH taken AS (
        DELETE FROM events_outboxentry WHERE partner_id = partner AND id = ANY(entries) RETURNING *
    ), of_rows AS (
        SELECT id, type, created_at, transaction_id, transaction_time, unnest(user_ids) AS user_id,
               unnest(external_ids) AS external_id, unnest(times) AS time
          FROM taken WHERE data IS NULL
    ), events AS (
        SELECT id, user_ids[1] AS user_id, type, created_at, data FROM taken WHERE data IS NOT NULL
         UNION ALL
        SELECT min(id), user_id, type, min(created_at),
               jsonb_build_object('externalId', min(external_id), 'userId', user_id, 'count', count(*),
                                  'oldestCreatedAt', to_char(min(time) AT TIME ZONE 'UTC', wire_time),
                                  'newestCreatedAt', to_char(max(time) AT TIME ZONE 'UTC', wire_time))
          FROM of_rows GROUP BY transaction_id, transaction_time, type, user_id
    ), numbered AS (
        SELECT *, row_number() OVER (ORDER BY id, user_id) AS number, count(*) OVER () AS count FROM events
    ), feed AS (
        INSERT INTO events_eventfeed AS feed (partner_id, last_position)
        SELECT partner, count(*) FROM events HAVING count(*) > 0
            ON CONFLICT (partner_id)
            DO UPDATE SET last_position = feed.last_position + excluded.last_position, updated_at = now(),
                          stopped_at = NULL
     RETURNING last_position
    ), made AS (
        INSERT INTO events_event (partner_id, user_id, type, created_at, data, position)
        SELECT partner, user_id, type, created_at, data, last_position - count + number
          FROM numbered CROSS JOIN feed ORDER BY number
     RETURNING *
    ), deliveries AS (
        INSERT INTO events_webhookdelivery (endpoint_id, event_id, event_uuid, type, user_id, position, attempts)
        SELECT endpoint.id, made.id, made.event_id, made.type, made.user_id, made.position, '[]'
          FROM made JOIN events_webhookendpoint endpoint USING (partner_id)
         WHERE disabled_reason = '' AND removed_at IS NULL AND (types = '{}' OR made.type = ANY(types))
         ORDER BY endpoint.id, made.position
    )
    SELECT count(*) INTO placed FROM made;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
    placed := 0;
    failure := rtrim(SQLSTATE || ' ' || violated);
    INSERT INTO events_eventfeed AS feed (partner_id, stopped_at) VALUES (partner, now())
        ON CONFLICT (partner_id) DO UPDATE SET stopped_at = excluded.stopped_at WHERE feed.stopped_at IS NULL;
END
$$;
REVOKE ALL ON FUNCTION events_place(bigint, bigint[]) FROM PUBLIC;
