CREATE OR REPLACE FUNCTION users_postal_code_fits(country text, province text, postal_code text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_temp AS $$
BEGIN
    -- Whether a postal code may belong to a province; true where there is no data on them.
    -- The migration that creates it writes the data: users/profile/addresses.py, province_forms.
    RETURN postal_code = '' OR coalesce(postal_code ~ ('{forms}'::jsonb -> country ->> province), true);
END
$$;
REVOKE ALL ON FUNCTION users_postal_code_fits FROM PUBLIC;
