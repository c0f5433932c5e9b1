CREATE OR REPLACE FUNCTION users_proposal_expiry(created_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    -- Until when a proposal waits for the second person.
    SELECT created_at + interval '72 hours'
$$;
REVOKE ALL ON FUNCTION users_proposal_expiry FROM PUBLIC;

CREATE OR REPLACE FUNCTION users_is_open(
    state text, created_at timestamptz, proposed_on timestamptz, present timestamptz
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    -- Whether a proposal can be approved or declined: it has not ended or expired, and the user is in the version on
    -- which it was made. proposed_on, present: users_proposal.user_updated_at and users_user.updated_at.
    -- Without a search path of its own, PostgreSQL reads it as part of the query, and finds the index proposal_open.
    SELECT state = 'open' AND created_at > statement_timestamp() - interval '72 hours' AND proposed_on = present
$$;
REVOKE ALL ON FUNCTION users_is_open FROM PUBLIC;
