"""The serving role's privileges, in the form of GRANT: as config/grants.sql has them, and as in effect."""

import re
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import sql

FILE = Path(settings.BASE_DIR) / "config" / "grants.sql"

# A grant on a table or a function.
_GRANT = re.compile(r'^GRANT ([^;]+?)\s+ON (?:FUNCTION )?(?!SCHEMA |DATABASE )(?P<object>[^;]+?) TO [:"]', re.MULTILINE)

_PRESENT = """
    SELECT name FROM unnest(%(tables)s::text[]) AS name WHERE to_regclass(name) IS NOT NULL
     UNION ALL SELECT name FROM unnest(%(functions)s::text[]) AS name WHERE to_regprocedure(name) IS NOT NULL
"""

# What the role has by ownership, through another role, or through PUBLIC. Extensions' tables are the hoster's.
_TABLE_PRIVILEGES = """
    WITH present AS (
        SELECT oid, relname FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
           AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = oid AND deptype = 'e')
    )
    SELECT relname, privilege, NULL, false
      FROM present, unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) AS privilege
     WHERE has_table_privilege(%(role)s, oid, privilege)
     UNION ALL
    SELECT relname, privilege, string_agg(attname, ', ' ORDER BY attname) FILTER (WHERE held), NOT bool_and(held)
      FROM (SELECT relname, privilege, attname, has_column_privilege(%(role)s, attrelid, attnum, privilege) AS held
              FROM present JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped,
                   unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS privilege) AS columns
     GROUP BY relname, privilege
    HAVING bool_or(held)
"""
# Identity columns need none on sequences.
_OTHER_PRIVILEGES = """
    SELECT 'USAGE on the sequence ' || relname FROM pg_class
     WHERE relnamespace = 'public'::regnamespace
       AND CASE relkind WHEN 'S' THEN has_sequence_privilege(%(role)s, oid, 'USAGE, SELECT, UPDATE') END
     UNION ALL
    SELECT 'EXECUTE on the function ' || proname FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace AND has_function_privilege(%(role)s, oid, 'EXECUTE')
       AND NOT EXISTS (SELECT FROM unnest(%(functions)s::text[]) AS name WHERE to_regprocedure(name) = oid)
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = oid AND deptype = 'e')
     UNION ALL
    SELECT 'CREATE in the schema ' || nspname FROM pg_namespace
     WHERE nspname !~ '^pg_' AND has_schema_privilege(%(role)s, oid, 'CREATE')
     UNION ALL
    SELECT 'CREATE in the database' WHERE has_database_privilege(%(role)s, current_database(), 'CREATE')
     UNION ALL
    SELECT 'default privileges on future objects' FROM pg_default_acl, aclexplode(defaclacl) AS granted
     WHERE pg_get_userbyid(defaclrole) = current_user
       AND (granted.grantee = 0 OR pg_get_userbyid(granted.grantee) = %(role)s)
"""


def grant(connection: BaseDatabaseWrapper, role: str) -> int:
    """Grant what the file says of all that exists, and revoke all else, as the owner; return the number of tables."""
    text = FILE.read_text()
    names = {"role": role, "DBNAME": connection.settings_dict["NAME"]}
    for name, value in names.items():
        text = text.replace(f':"{name}"', sql.Identifier(value).as_string(None))
    tables, functions = declared()
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, {"tables": list(tables), "functions": functions})
        present = {name for (name,) in cursor.fetchall()}
        for statement in filter(None, map(str.strip, re.sub(r"(?m)^--.*", "", text).split(";"))):
            match = _GRANT.search(statement)
            if not match or match["object"] in present:
                cursor.execute(statement)
    return len(present & tables.keys())


def differences(connection: BaseDatabaseWrapper, role: str) -> tuple[list[str], list[str]]:
    """What the file grants and the role lacks, and what it has beyond."""
    tables, functions = declared()
    with connection.cursor() as cursor:
        held = effective(cursor, role)
        cursor.execute(_OTHER_PRIVILEGES, {"role": role, "functions": functions})
        other = [text for (text,) in cursor.fetchall()]
    return _beyond(tables, held), [*_beyond(held, tables), *other]


def declared() -> tuple[dict[str, set[str]], list[str]]:
    """What the file grants on each table, with columns sorted, and the functions that the role may execute."""
    tables: dict[str, set[str]] = {}
    functions = []
    for privileges, name in _GRANT.findall(FILE.read_text()):
        if "(" in name:
            functions.append(name)
        else:
            tables[name] = {
                re.sub(r"\((.+)\)", lambda columns: f"({', '.join(sorted(columns[1].split(', ')))})", privilege)
                for privilege in re.split(r", (?![^(]*\))", " ".join(privileges.split()))
            }
    return tables, functions


def effective(cursor: CursorWrapper, role: str) -> dict[str, set[str]]:
    """The role's privileges by table of the schema public, if any, with columns sorted."""
    held: dict[str, set[str]] = {}
    cursor.execute(_TABLE_PRIVILEGES, {"role": role})
    for table, privilege, columns, is_in_part in cursor.fetchall():
        held.setdefault(table, set()).add(f"{privilege} ({columns})" if is_in_part else privilege)
    return held


def _beyond(more: Mapping[str, set[str]], less: Mapping[str, set[str]]) -> list[str]:
    return [
        f"{privilege} on {table}" for table, some in more.items() for privilege in sorted(some - less.get(table, set()))
    ]
