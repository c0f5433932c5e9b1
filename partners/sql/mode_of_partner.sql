CREATE OR REPLACE FUNCTION mode_of_partner(wanted text) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- The mode of the partner of this slug; null where there is none. For the audit log (core/models.py).
    SELECT mode FROM partners_partner WHERE slug = wanted
$$;
REVOKE ALL ON FUNCTION mode_of_partner FROM PUBLIC;
