"""The role that the service connects as, which can change neither history nor the schema, by config/grants.sql."""

import re
from collections.abc import Mapping
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import sql

SERVING = "default"
OWNER = "owner"
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


def owner_alias() -> str:
    """The alias for migrations: `owner`, or `default` if OWNER_DATABASE_URL is not set."""
    return OWNER if OWNER in connections else SERVING


def serving_role() -> str | None:
    """The role of DATABASE_URL, or None if it is the owner."""
    role = connections[SERVING].settings_dict["USER"]
    if owner_alias() == SERVING or role == connections[OWNER].settings_dict["USER"]:
        return None
    return str(role)


def exists(role: str) -> bool:
    """Whether the role exists."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
        return bool(cursor.rowcount)


def set_up() -> tuple[str, int]:
    """Create or update the role; return its name and the number of tables. Raises ImproperlyConfigured."""
    role = serving_role()
    if not role:
        raise ImproperlyConfigured(
            "OWNER_DATABASE_URL is not set, or DATABASE_URL names the same role or none: set OWNER_DATABASE_URL to the"
            " URL of the role that owns the schema, and DATABASE_URL to that of the role that the service runs under."
        )
    try:
        with transaction.atomic(using=OWNER):
            _create_or_update(role)
            tables = grant(role)
            _, excess = differences(connections[OWNER], role)
            if excess:
                raise ImproperlyConfigured(
                    f"The role {role} of DATABASE_URL has further privileges ({', '.join(excess[:3])}): it owns tables"
                    " or the database, is a member of another role, or PUBLIC has them. Revoke them, or name another"
                    " role."
                )
    except ProgrammingError as error:
        if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise
        reason = error.__cause__.diag.message_primary
        raise ImproperlyConfigured(
            f"The role of OWNER_DATABASE_URL must own the schema and have CREATEROLE (PostgreSQL says: {reason})."
        ) from error
    return role, tables


def _create_or_update(role: str) -> None:
    with connections[OWNER].cursor() as cursor:
        cursor.execute(
            "SELECT rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
            " FROM pg_roles WHERE rolname = %s",
            [role],
        )
        can_login, *other_rights = cursor.fetchone() or (False,)
        if any(other_rights):
            raise ImproperlyConfigured(
                f"The role {role} of DATABASE_URL is a superuser, or may create roles or databases, replicate or"
                " bypass row security: name another role."
            )
        if not can_login:
            verb = sql.SQL("ALTER" if other_rights else "CREATE")
            cursor.execute(sql.SQL("{} ROLE {} LOGIN").format(verb, sql.Identifier(role)).as_string(None))
        if password := connections[SERVING].settings_dict["PASSWORD"]:
            # Hashed here, to keep it out of the server's log.
            pgconn = cursor.connection.pgconn
            verifier = pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
            cursor.execute(statement.as_string(cursor.connection))


def grant(role: str) -> int:
    """Grant what the file says of all that exists, and revoke all else, as the owner; return the number of tables."""
    text, connection = FILE.read_text(), connections[OWNER]
    for name, value in {"role": role, "DBNAME": connection.settings_dict["NAME"]}.items():
        text = text.replace(f':"{name}"', sql.Identifier(value).as_string(None))
    tables, functions = declared()
    with transaction.atomic(using=OWNER), connection.cursor() as cursor:
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
