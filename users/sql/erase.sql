-- The only function that erases a user: the trigger after the insert of a row of users_erasure, which the serving role
-- may not insert. The trigger before it has locked the user, and refused one that is not due or is held.
--
-- While `rows` is empty, the triggers that refuse DELETE let this function pass (partners/db/triggers.py). The row is
-- in no other transaction then, and has its counts before the statement that inserted it ends.
--
-- The places in braces are filled from the register (users/models/retention.py), which also declares the
-- variables.
SELECT * INTO erased FROM users_user WHERE id = NEW.user_id;
-- Waits for deliveries that are being made of the user's events (partners/webhooks/fan_out.py skips what is locked).
PERFORM FROM partners_webhookendpoint WHERE partner_id = erased.partner_id ORDER BY id FOR NO KEY UPDATE;
ids := ARRAY({identifiers});
-- The path as requests have it in its canonical form: each byte but the unreserved ones as %XX.
address := '/v1/users/' || (
    SELECT string_agg(
               CASE WHEN letter ~ '^[A-Za-z0-9_.~/-]$' THEN letter
                    ELSE regexp_replace(upper(encode(convert_to(letter, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END,
               '' ORDER BY place)
      FROM regexp_split_to_table(erased.external_id, '') WITH ORDINALITY AS letters (letter, place));
counts := '{{}}';
named := jsonb_build_array(
    jsonb_build_object('data', jsonb_build_object('userIds', jsonb_build_array(erased.id))));
{deletions}
-- The risk flags of others name it as somebody of the same name or address: their number stays.
UPDATE users_statuschange SET basis = replace(basis::text, to_json(erased.id)::text, 'null')::jsonb
 WHERE basis -> 'riskFlags' @> named;
UPDATE users_proposal SET basis = replace(basis::text, to_json(erased.id)::text, 'null')::jsonb
 WHERE basis -> 'riskFlags' @> named;
-- Entries of a statement about several users, such as an import's: the others keep theirs.
UPDATE partners_outboxentry entry
   SET (user_ids, external_ids, times, size) = (
       SELECT array_agg(of_user), array_agg(external_id), array_agg(time), count(*)
         FROM unnest(entry.user_ids, entry.external_ids, entry.times) AS rows (of_user, external_id, time)
        WHERE of_user <> erased.id)
 WHERE partner_id = erased.partner_id AND erased.id = ANY(user_ids);
UPDATE users_erasure SET rows = counts WHERE user_id = NEW.user_id;
{event};
{entry};
RETURN NULL;
