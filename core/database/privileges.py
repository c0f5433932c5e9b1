"""The serving role's privileges on each table, in the form of GRANT: as declared, and as in effect.

Models declare `serving_privileges`, and in `serving_functions` the functions that change their rows; tables of Django
and libraries are in LIBRARY_TABLES, or get DEFAULT_PRIVILEGES.
"""

import re
from collections.abc import Iterable

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

DEFAULT_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")
# History, tables that only the owner writes, and tables of which little is needed.
LIBRARY_TABLES = {
    "django_migrations": ("SELECT",),
    # Triggers and rules write the audit log instead.
    "django_admin_log": (),
    "pghistory_context": ("SELECT",),
    # Migrations write the roles' permissions (staff/roles.py); accounts have no others.
    "auth_group": ("SELECT",),
    "auth_group_permissions": ("SELECT",),
    "auth_permission": ("SELECT",),
    "staff_staff_user_permissions": ("SELECT",),
    "staff_staff_groups": ("SELECT", "INSERT", "DELETE"),
    "django_content_type": ("SELECT",),
    "django_session": ("SELECT", "INSERT", "UPDATE (session_data, expire_date)", "DELETE"),
    # Empty, but read by allauth.
    "account_emailaddress": ("SELECT",),
    "account_emailconfirmation": ("SELECT",),
    # Who signs in with the company's account, written by allauth as whole rows. Provider and tokens are not stored.
    "socialaccount_socialaccount": ("SELECT", "INSERT", "UPDATE"),
    "socialaccount_socialapp": (),
    "socialaccount_socialtoken": (),
    # Failed logins and used codes, if there is no Redis (CACHES in the settings).
    "staff_cache": ("SELECT", "INSERT", "UPDATE (value, expires)", "DELETE"),
}

Privileges = dict[str, tuple[str, ...]]

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
_OTHER_PRIVILEGES = """
    SELECT 'USAGE on the sequence ' || relname FROM pg_class
     WHERE relnamespace = 'public'::regnamespace
       AND CASE relkind WHEN 'S' THEN has_sequence_privilege(%(role)s, oid, 'USAGE, SELECT, UPDATE') END
     UNION ALL
    SELECT 'EXECUTE on the function ' || proname FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace AND has_function_privilege(%(role)s, oid, 'EXECUTE')
       AND oid <> ALL(%(functions)s::text[]::regprocedure[])
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


def declared(connection: BaseDatabaseWrapper) -> Privileges:
    """The privileges to grant on each existing table."""
    present = set(connection.introspection.table_names())
    declared_ = dict(LIBRARY_TABLES)
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table  # noqa: SLF001 - Django's public name for it
        declared_.setdefault(table, getattr(model, "serving_privileges", DEFAULT_PRIVILEGES))
    return {table: privileges for table, privileges in sorted(declared_.items()) if table in present}


def effective(cursor: CursorWrapper, role: str) -> dict[str, set[str]]:
    """The role's privileges by table of the schema public, if any, in the form of GRANT with columns sorted."""
    held: dict[str, set[str]] = {}
    cursor.execute(_TABLE_PRIVILEGES, {"role": role})
    for table, privilege, columns, is_in_part in cursor.fetchall():
        held.setdefault(table, set()).add(f"{privilege} ({columns})" if is_in_part else privilege)
    return held


def declared_functions(cursor: CursorWrapper) -> list[str]:
    """The existing functions that the role is to execute."""
    declared_ = [name for model in apps.get_models() for name in getattr(model, "serving_functions", ())]
    cursor.execute("SELECT name FROM unnest(%s::text[]) AS name WHERE to_regprocedure(name) IS NOT NULL", [declared_])
    return [name for (name,) in cursor.fetchall()]


def other_privileges(cursor: CursorWrapper, role: str) -> list[str]:
    """The role's privileges on other objects than tables and declared functions.

    There should be none, as identity columns need none.
    """
    cursor.execute(_OTHER_PRIVILEGES, {"role": role, "functions": declared_functions(cursor)})
    return [text for (text,) in cursor.fetchall()]


def normalised(privileges: Iterable[str]) -> set[str]:
    """Privileges in the form of `effective`, with columns sorted."""
    return {
        re.sub(r"\((.+)\)", lambda match: f"({', '.join(sorted(match[1].split(', ')))})", privilege)
        for privilege in privileges
    }
