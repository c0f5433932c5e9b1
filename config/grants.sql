-- What the serving role may do, and nothing else. `migrate` and `setup_database_roles` execute this as the owner, but
-- for what does not exist yet; `check --database default` compares it with the catalogue. psql reads it too, with
-- `--set role=NAME`. Triggers run as the owner: what they alone write needs no right here.

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM :"role";
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC, :"role";
-- Privileges on columns too.
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM :"role";
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM :"role";
-- PUBLIC may by default execute all functions, future ones included.
REVOKE ALL ON ALL ROUTINES IN SCHEMA public FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES REVOKE ALL ON ROUTINES FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON SEQUENCES FROM PUBLIC, :"role";
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON ROUTINES FROM PUBLIC, :"role";

GRANT USAGE ON SCHEMA public TO :"role";
-- Imports copy each batch into a temporary table (transactions/imports/conversions.py).
GRANT CONNECT, TEMPORARY ON DATABASE :"DBNAME" TO :"role";

-- Histories: triggers write them.
GRANT SELECT ON partners_partnerevent TO :"role";
GRANT SELECT ON partners_apikeyevent TO :"role";
GRANT SELECT ON events_webhookendpointevent TO :"role";
GRANT SELECT ON events_webhooksecretevent TO :"role";
GRANT SELECT ON staff_staffevent TO :"role";
GRANT SELECT ON staff_staffroleevent TO :"role";
GRANT SELECT ON staff_secondfactorevent TO :"role";
GRANT SELECT ON users_userevent TO :"role";
-- The audit log: the time is the database's. A trigger refuses DELETE but for what a sandbox partner did long ago.
GRANT SELECT, INSERT (actor, actor_kind, action, object, detail), DELETE ON core_auditentry TO :"role";

-- Partners
GRANT SELECT, INSERT, UPDATE (name, enabled, rate_limit) ON partners_partner TO :"role";
-- Owner, prefix and digest of a key never change; a trigger refuses DELETE until a year after its end.
GRANT SELECT, INSERT, UPDATE (encrypted_secret, expires_at, revoked_at, last_used_at), DELETE
    ON partners_apikey TO :"role";
GRANT SELECT, INSERT, UPDATE (fingerprint, method, path, status, body, location, completed_at), DELETE
    ON partners_idempotencyrecord TO :"role";
GRANT SELECT, INSERT, DELETE ON partners_usedsignature TO :"role";
GRANT SELECT, INSERT, DELETE ON partners_sandboxrequest TO :"role";

-- Events: triggers fill the outbox; the two functions alone make events of it, and purge them.
GRANT SELECT ON events_outboxentry TO :"role";
GRANT SELECT ON events_event TO :"role";
GRANT SELECT ON events_eventfeed TO :"role";
GRANT EXECUTE ON FUNCTION events_place(bigint, bigint[]) TO :"role";
GRANT EXECUTE ON FUNCTION events_purge(bigint, integer) TO :"role";
GRANT SELECT, INSERT, UPDATE (url, types, description, disabled_reason, disabled_at, last_success_at, failing_since,
    failing_days, removed_at), DELETE ON events_webhookendpoint TO :"role";
GRANT SELECT, INSERT, UPDATE (encrypted_secret, expires_at), DELETE ON events_webhooksecret TO :"role";
GRANT SELECT, INSERT, UPDATE (state, attempts, attempt_count, next_attempt_at, leased_until, ended_at), DELETE
    ON events_webhookdelivery TO :"role";

-- Staff: Django and allauth write whole rows. Accounts are never removed: decisions refer to them.
GRANT SELECT, INSERT, UPDATE ON staff_staff TO :"role";
GRANT SELECT, INSERT, DELETE ON staff_staff_groups TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_authenticator TO :"role";
GRANT EXECUTE ON FUNCTION staff_may(bigint, text) TO :"role";
GRANT EXECUTE ON FUNCTION staff_may_decide(bigint) TO :"role";
GRANT EXECUTE ON FUNCTION staff_ties(bigint, bigint) TO :"role";
GRANT EXECUTE ON FUNCTION staff_pair(bigint, bigint, text) TO :"role";
-- Who signs in with the company's account. Provider and tokens are not stored.
GRANT SELECT, INSERT, UPDATE ON socialaccount_socialaccount TO :"role";
GRANT SELECT, INSERT, UPDATE (session_data, expire_date), DELETE ON django_session TO :"role";
-- Failed logins and used codes, if there is no Redis.
GRANT SELECT, INSERT, UPDATE (value, expires), DELETE ON staff_cache TO :"role";
-- Migrations write the roles' permissions (staff/roles.py); accounts have no others.
GRANT SELECT ON auth_group TO :"role";
GRANT SELECT ON auth_group_permissions TO :"role";
GRANT SELECT ON auth_permission TO :"role";
GRANT SELECT ON staff_staff_user_permissions TO :"role";

-- Users: what a partner may change, and what is made of it for comparing and finding. Status and times are the
-- database's.
GRANT SELECT,
    INSERT (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1, address_line2,
        city, postal_code, province, country, occupation, is_ciro_affiliate, name_key, name_words),
    UPDATE (email, first_name, last_name, date_of_birth, address_line1, address_line2, city, postal_code, province,
        country, occupation, is_ciro_affiliate, name_key, name_words)
    ON users_user TO :"role";
GRANT EXECUTE ON FUNCTION users_postal_code_fits(text, text, text) TO :"role";
-- Kept for good: added to. The id is the database's; columns that triggers set are here because Django names them.
GRANT SELECT, INSERT (user_id, from_status, to_status, by_id, reason_code, reason, proposal_id, basis, waiting_since,
    partner_id, is_sandbox, created_at, common_maker) ON users_statuschange TO :"role";
GRANT SELECT, INSERT ON users_requirement TO :"role";
GRANT SELECT, INSERT (requirement_id, note, context, profile_event, created_at) ON users_requirementresponse TO :"role";
GRANT SELECT, INSERT ON users_requirementclosure TO :"role";
GRANT EXECUTE ON FUNCTION users_requirement_state(uuid) TO :"role";
-- The owner re-encrypts what is stored under an older key.
GRANT SELECT, INSERT ON users_fileentry TO :"role";
GRANT EXECUTE ON FUNCTION users_identity_gap(uuid, date) TO :"role";
GRANT EXECUTE ON FUNCTION users_identity_refusal(uuid) TO :"role";
GRANT SELECT ON users_identityrule TO :"role";
GRANT SELECT, INSERT ON users_casenote TO :"role";
GRANT SELECT, INSERT ON users_accessrecord TO :"role";
GRANT SELECT, INSERT, DELETE ON users_claim TO :"role";
-- The owner sets the rules. A proposal ends once.
GRANT SELECT ON users_approvalrule TO :"role";
GRANT SELECT, INSERT, UPDATE (state, ended_by_id, note) ON users_proposal TO :"role";
GRANT EXECUTE ON FUNCTION users_is_open(text, timestamptz, timestamptz, timestamptz) TO :"role";
GRANT EXECUTE ON FUNCTION users_proposal_expiry(timestamptz) TO :"role";
GRANT EXECUTE ON FUNCTION users_meets(uuid, text) TO :"role";
GRANT EXECUTE ON FUNCTION users_takes_two(uuid, text) TO :"role";
GRANT SELECT, INSERT ON users_hold TO :"role";
GRANT EXECUTE ON FUNCTION users_is_held(uuid) TO :"role";
GRANT EXECUTE ON FUNCTION users_due_at(uuid, integer) TO :"role";
GRANT EXECUTE ON FUNCTION users_erasure_in_force(text, timestamptz, timestamptz) TO :"role";
GRANT SELECT, INSERT ON users_holdrelease TO :"role";
GRANT SELECT, INSERT, UPDATE (state, ended_by_id, note) ON users_erasureproposal TO :"role";
GRANT SELECT, INSERT ON users_proposederasure TO :"role";
-- Its insert erases a user, which the owner alone does.
GRANT SELECT ON users_erasure TO :"role";

-- Transactions: kept for good. The id, recorded_at and the mark of conversions are the database's.
GRANT SELECT, INSERT (partner_id, user_id, is_sandbox, conversion_id, created_at, tiebreak, type, from_currency,
    from_amount, to_currency, to_amount, rate, while_inactive) ON transactions_conversion TO :"role";
GRANT SELECT, INSERT ON transactions_document TO :"role";
GRANT SELECT, INSERT ON transactions_documentwithdrawal TO :"role";
-- A trigger inserts, and `erase_due` deletes, as the owner.
GRANT SELECT ON transactions_erasedfile TO :"role";

-- Of Django and libraries. There is nothing on django_admin_log, socialaccount_socialapp and socialaccount_socialtoken.
-- Those of account are empty, but allauth reads them.
GRANT SELECT ON django_migrations TO :"role";
GRANT SELECT ON django_content_type TO :"role";
GRANT SELECT ON pghistory_context TO :"role";
GRANT SELECT ON account_emailaddress TO :"role";
GRANT SELECT ON account_emailconfirmation TO :"role";
