"""What the serving role may do with each table: as the models declare it, and as the database sees it in the end.

A model names its privileges in `serving_privileges`, as GRANT takes them. A table that nobody names
is one of Django's or of a library's: it stands in OTHERS, or gets DEFAULT_PRIVILEGES.
"""

import re
from collections.abc import Iterable

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

DEFAULT_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")
# Tables of others that are history too, that only the owner writes, or of which little is needed.
OTHERS = {
    "django_migrations": ("SELECT",),
    "django_admin_log": ("SELECT", "INSERT"),
    "pghistory_context": ("SELECT",),
    # Migrations keep what a role of staff may do (users/services/roles.py); nobody has permissions of their own.
    "auth_group": ("SELECT",),
    "auth_group_permissions": ("SELECT",),
    "auth_permission": ("SELECT",),
    "users_staff_user_permissions": ("SELECT",),
    "users_staff_groups": ("SELECT", "INSERT", "DELETE"),
    "django_content_type": ("SELECT",),
    "django_session": ("SELECT", "INSERT", "UPDATE (session_data, expire_date)", "DELETE"),
    # Staff have no mailbox here: allauth asks, and finds nothing.
    "account_emailaddress": ("SELECT",),
    "account_emailconfirmation": ("SELECT",),
    # No model's: failed logins and used codes, where there is no Redis (CACHES in the settings).
    "staff_cache": ("SELECT", "INSERT", "UPDATE (value, expires)", "DELETE"),
}

Privileges = dict[str, tuple[str, ...]]

# By ownership, through another role, or through PUBLIC: whatever the way. What an extension brought is the hoster's.
_OF_TABLES = """
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
_ELSEWHERE = """
    SELECT 'USAGE on the sequence ' || relname FROM pg_class
     WHERE relnamespace = 'public'::regnamespace
       AND CASE relkind WHEN 'S' THEN has_sequence_privilege(%(role)s, oid, 'USAGE, SELECT, UPDATE') END
     UNION ALL
    SELECT 'EXECUTE on the function ' || proname FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace AND has_function_privilege(%(role)s, oid, 'EXECUTE')
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = oid AND deptype = 'e')
     UNION ALL
    SELECT 'CREATE in the schema ' || nspname FROM pg_namespace
     WHERE nspname !~ '^pg_' AND has_schema_privilege(%(role)s, oid, 'CREATE')
     UNION ALL
    SELECT 'CREATE in the database' WHERE has_database_privilege(%(role)s, current_database(), 'CREATE')
     UNION ALL
    SELECT 'default privileges on what will be made' FROM pg_default_acl, aclexplode(defaclacl) AS granted
     WHERE pg_get_userbyid(defaclrole) = current_user
       AND (granted.grantee = 0 OR pg_get_userbyid(granted.grantee) = %(role)s)
"""


def declared(connection: BaseDatabaseWrapper) -> Privileges:
    """What each table that is there is to be granted, by its name."""
    present = set(connection.introspection.table_names())
    all_ = dict(OTHERS)
    for model in apps.get_models(include_auto_created=True):
        all_.setdefault(_table(model), getattr(model, "serving_privileges", DEFAULT_PRIVILEGES))
    return {table: privileges for table, privileges in sorted(all_.items()) if table in present}


def effective(cursor: CursorWrapper, role: str) -> dict[str, set[str]]:
    """What `role` may do with each table in the schema public, whatever gives it the right.

    As GRANT takes it, columns in alphabetical order: `UPDATE (count, last_at)`. Tables with which it
    may do nothing are left out.
    """
    held: dict[str, set[str]] = {}
    cursor.execute(_OF_TABLES, {"role": role})
    for table, privilege, columns, is_in_part in cursor.fetchall():
        held.setdefault(table, set()).add(f"{privilege} ({columns})" if is_in_part else privilege)
    return held


def elsewhere(cursor: CursorWrapper, role: str) -> list[str]:
    """What `role` may do with other things than tables, in words; it is to be nothing.

    It needs no sequence: a table's identity column takes its numbers by itself.
    """
    cursor.execute(_ELSEWHERE, {"role": role})
    return [text for (text,) in cursor.fetchall()]


def ordered(privileges: Iterable[str]) -> set[str]:
    """Privileges as `effective` writes them."""
    return {re.sub(r"\((.+)\)", lambda found: f"({_sorted(found[1])})", privilege) for privilege in privileges}


def _sorted(columns: str) -> str:
    return ", ".join(sorted(columns.split(", ")))


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table  # noqa: SLF001 - Django's public name for it
