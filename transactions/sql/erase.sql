-- Deletes all that belongs to a user, and returns how many rows of each table there were. The trigger of users_erasure
-- (users/models/retention.py) alone calls it, after the one that locks the user, and refuses one that is not due, is held,
-- or whose erasure two people have not approved. The triggers that refuse DELETE let it pass meanwhile (is_erasing).
CREATE OR REPLACE FUNCTION erase(erased users_user) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    -- The identifiers by which the audit log names what is erased, as texts.
    ids text[];
    address text;
    counts jsonb := '{}';
    named jsonb;
    n bigint;
    more bigint;
BEGIN
    -- Changes of deliveries lock their endpoints first, so that none is in a deadlock with another.
    PERFORM FROM events_webhookendpoint WHERE partner_id = erased.partner_id ORDER BY id FOR NO KEY UPDATE;
    ids := ARRAY(SELECT erased.id::text
       UNION ALL SELECT id::text FROM users_hold WHERE user_id = erased.id
       UNION ALL SELECT id::text FROM users_proposal WHERE user_id = erased.id
       UNION ALL SELECT id::text FROM users_requirement WHERE user_id = erased.id
       UNION ALL SELECT document_id::text FROM transactions_document WHERE user_id = erased.id);
    -- The path as requests have it in its canonical form: each byte but the unreserved ones as %XX.
    address := '/v1/users/' || (
        SELECT string_agg(
                   CASE WHEN letter ~ '^[A-Za-z0-9_.~/-]$' THEN letter
                        ELSE regexp_replace(upper(encode(convert_to(letter, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END,
                   '' ORDER BY place)
          FROM regexp_split_to_table(erased.external_id, '') WITH ORDINALITY AS letters (letter, place));

    -- What refers to other rows goes before them.
    DELETE FROM users_requirementclosure
     WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    DELETE FROM users_requirementclosure
     WHERE decision_id IN (SELECT id FROM users_statuschange WHERE user_id = erased.id);
    GET DIAGNOSTICS more = ROW_COUNT;
    counts := counts || jsonb_build_object('users_requirementclosure', n + more);

    DELETE FROM users_requirementresponse
     WHERE requirement_id IN (SELECT id FROM users_requirement WHERE user_id = erased.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_requirementresponse', n);

    DELETE FROM users_requirement WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_requirement', n);

    DELETE FROM users_statuschange WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_statuschange', n);

    DELETE FROM users_proposal WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_proposal', n);

    DELETE FROM users_fileentry WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_fileentry', n);

    DELETE FROM users_casenote WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_casenote', n);

    DELETE FROM users_claim WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_claim', n);

    DELETE FROM users_accessrecord WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_accessrecord', n);

    -- What people wrote about its erasure may name it.
    UPDATE users_erasureproposal SET reason = '', note = ''
     WHERE id IN (SELECT proposal_id FROM users_proposederasure WHERE user_id = erased.id)
       AND (reason <> '' OR note <> '');
    UPDATE core_auditentry SET detail = detail - 'reason'
     WHERE object IN (SELECT proposal_id::text FROM users_proposederasure WHERE user_id = erased.id)
       AND detail ? 'reason';
    DELETE FROM users_proposederasure WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_proposederasure', n);

    DELETE FROM users_holdrelease WHERE hold_id IN (SELECT id FROM users_hold WHERE user_id = erased.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_holdrelease', n);

    DELETE FROM users_hold WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_hold', n);

    DELETE FROM transactions_documentwithdrawal
     WHERE document_id IN (SELECT id FROM transactions_document WHERE user_id = erased.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('transactions_documentwithdrawal', n);

    DELETE FROM transactions_document WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('transactions_document', n);

    DELETE FROM transactions_conversion WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('transactions_conversion', n);

    -- The outbox first: this waits for entries that are being placed, whose events the next statements see.
    DELETE FROM events_outboxentry WHERE partner_id = erased.partner_id AND erased.id = ALL(user_ids);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('events_outboxentry', n);

    -- Entries of a statement about several users, such as an import's: the others keep theirs.
    UPDATE events_outboxentry entry
       SET (user_ids, external_ids, times, size) = (
           SELECT array_agg(of_user), array_agg(external_id), array_agg(time), count(*)
             FROM unnest(entry.user_ids, entry.external_ids, entry.times) AS rows (of_user, external_id, time)
            WHERE of_user <> erased.id)
     WHERE partner_id = erased.partner_id AND erased.id = ANY(user_ids);

    DELETE FROM events_webhookdelivery
     WHERE event_id IN (SELECT id FROM events_event WHERE user_id = erased.id);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('events_webhookdelivery', n);

    DELETE FROM events_event WHERE user_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('events_event', n);

    -- A registration is found by its Location, which is the user's path.
    DELETE FROM partners_idempotencyrecord
     WHERE partner_id = erased.partner_id
       AND (coalesce(location, path) = address OR starts_with(coalesce(location, path), address || '/'));
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('partners_idempotencyrecord', n);

    DELETE FROM partners_usedsignature
     WHERE partner_id = erased.partner_id AND (path = address OR starts_with(path, address || '/'));
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('partners_usedsignature', n);

    DELETE FROM core_auditentry WHERE object = ANY(ids);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('core_auditentry', n);

    DELETE FROM django_admin_log WHERE object_id = ANY(ids);
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('django_admin_log', n);

    DELETE FROM users_userevent WHERE pgh_obj_id = erased.id;
    GET DIAGNOSTICS n = ROW_COUNT;
    counts := counts || jsonb_build_object('users_userevent', n);

    DELETE FROM users_user WHERE id = erased.id;
    counts := counts || jsonb_build_object('users_user', 1);

    -- The risk flags of others name it as somebody of the same name or address: their number stays.
    named := jsonb_build_array(
        jsonb_build_object('data', jsonb_build_object('userIds', jsonb_build_array(erased.id))));
    UPDATE users_statuschange SET basis = replace(basis::text, to_json(erased.id)::text, 'null')::jsonb
     WHERE basis -> 'riskFlags' @> named;
    UPDATE users_proposal SET basis = replace(basis::text, to_json(erased.id)::text, 'null')::jsonb
     WHERE basis -> 'riskFlags' @> named;

    RETURN (SELECT jsonb_object_agg(name, value) FROM jsonb_each(counts) AS each (name, value) WHERE value <> '0');
END
$$;
REVOKE ALL ON FUNCTION erase FROM PUBLIC;
