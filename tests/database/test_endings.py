"""The register of how the rows of each table end (partners/db/endings.py), and what follows from it."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from partners.db import endings
from users.models import User

_REFERENCES = """
    WITH RECURSIVE of_users (name) AS (
        SELECT 'users_user'::regclass UNION
        SELECT conrelid::regclass FROM pg_constraint JOIN of_users ON confrelid = name WHERE contype = 'f'
    )
    SELECT name::text FROM of_users
"""


@pytest.mark.parametrize("table", endings.tables())
def test_each_table_says_how_its_rows_end(table: str) -> None:
    ending = endings.tables()[table]
    assert ending is not None, "Its model needs an `ending`, beside its `serving_privileges`."
    assert ending.text


def test_every_table_of_the_database_is_in_the_register(db: None) -> None:
    with connection.cursor() as cursor:
        # Not the temporary one that an import in this session may have left.
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        found = {name for (name,) in cursor.fetchall()}
    assert found == set(endings.tables())


def test_what_refers_to_users_goes_with_them(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_REFERENCES)
        referring = {name for (name,) in cursor.fetchall()}
    assert referring <= {one.table for one in endings.deletions(User)}


def test_what_refers_to_other_rows_goes_before_them(db: None) -> None:
    order = [one.table for one in endings.deletions(User)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
        )
        references = [(one, of) for one, of in cursor.fetchall() if one in order and of in order and one != of]
    assert len(references) > 10
    assert [(one, of) for one, of in references if order.index(one) > order.index(of)] == []


def test_the_document_has_the_register() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
    section = text.split("## How rows end", 1)[1].split("\n## ", 1)[0]
    table = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    expected = {name: ending.text for name, ending in endings.tables().items() if ending}
    assert table == expected, "\n".join(f"| `{name}` | {text} |" for name, text in expected.items())
