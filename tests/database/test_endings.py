"""How the rows of each table end: with their user (transactions/sql/erase.sql), or as docs/security.md says."""

import re
from pathlib import Path

from django.conf import settings
from django.db import connection

ERASED = re.findall(r"DELETE FROM (\w+)", (Path(settings.BASE_DIR) / "transactions" / "sql" / "erase.sql").read_text())
_REFERENCES = """
    WITH RECURSIVE of_users (name) AS (
        SELECT 'users_user'::regclass UNION
        SELECT conrelid::regclass FROM pg_constraint JOIN of_users ON confrelid = name WHERE contype = 'f'
    )
    SELECT name::text FROM of_users
"""
# Columns that name users without referring to them.
_NAMING = """
    SELECT DISTINCT table_name FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name <> 'users_erasure'
       AND (column_name IN ('user_ids', 'external_id') OR column_name = 'user_id' AND data_type = 'uuid')
"""


def test_every_table_with_a_user_in_it_is_erased(db: None) -> None:
    referring, naming = names(_REFERENCES), names(_NAMING)
    assert {"users_requirementresponse", "users_holdrelease"} <= referring
    assert {"events_outboxentry", "events_event", "users_userevent"} <= naming
    assert referring | naming <= set(ERASED)


def test_what_refers_to_other_rows_goes_before_them(db: None) -> None:
    order = list(dict.fromkeys(ERASED))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
        )
        references = [(one, of) for one, of in cursor.fetchall() if one in order and of in order and one != of]
    assert len(references) > 10
    assert [(one, of) for one, of in references if order.index(one) > order.index(of)] == []


def test_every_table_says_how_its_rows_end(db: None) -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
    section = text.split("## How rows end", 1)[1].split("\n## ", 1)[0]
    rows = dict(re.findall(r"^\| (`.+`) \| (.+) \|$", section, re.MULTILINE))
    said = {table: ending for tables, ending in rows.items() for table in re.findall(r"\w+", tables)}
    # Not the temporary one that an import in this session may have left.
    tables = names("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert tables - set(ERASED) <= set(said) <= tables
    assert {table for table, ending in said.items() if "with its user" in ending} <= set(ERASED)


def names(query: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall()}
