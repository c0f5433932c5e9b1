CREATE OR REPLACE FUNCTION staff_pair(
    first bigint, second bigint, permission text, OUT refusal text, OUT makers text
)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether two accounts may do together what takes two people who both have this permission of users.
    -- refusal: why not, as the trigger that refuses it names its constraint; null where they may. makers: of staff_ties.
    SELECT CASE WHEN first = second THEN 'pair_is_one'
                WHEN NOT staff_may(first, permission) THEN 'pair_first_may_not'
                WHEN NOT staff_may(second, permission) THEN 'pair_second_may_not'
                WHEN ties.related THEN 'pair_is_related'
           END, ties.makers
      FROM staff_ties(first, second) AS ties
$$
