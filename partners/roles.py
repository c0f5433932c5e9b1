"""The serving role of the database: what it may do, table by table.

Triggers and checks are the second line. The wall is that the service connects as a role that does
not own the tables, holds no right to alter history or written conversions, and cannot change the
schema. A model names its privileges in `serving_privileges`; Django's own tables get plain
SELECT, INSERT, UPDATE and DELETE. Nobody gets TRUNCATE.
"""

from collections.abc import Iterator

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

SERVING = "default"
OWNER = "owner"

DEFAULT_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")
# Tables of others that are history too, or that only the owner writes.
RESTRICTED_TABLES = {
    "django_migrations": ("SELECT",),
    "django_admin_log": ("SELECT", "INSERT"),
    "pghistory_context": ("SELECT",),
}


def owner_alias() -> str:
    """The alias that migrates: `owner`, or `default` where OWNER_DATABASE_URL is not set."""
    return OWNER if OWNER in connections else SERVING


def serving_role() -> str | None:
    """The role of DATABASE_URL, or None where it is the owner's own."""
    role = connections[SERVING].settings_dict["USER"]
    if owner_alias() == SERVING or role == connections[OWNER].settings_dict["USER"]:
        return None
    return str(role)


def exists(role: str) -> bool:
    """Whether the database has this role."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
        return bool(cursor.rowcount)


def create_serving_role() -> str:
    """Creates the role of DATABASE_URL, or sets its password anew; its name.

    Raises ImproperlyConfigured where there is no owner to do it, or the role may do more than serve.
    """
    role = serving_role()
    if role is None:
        raise ImproperlyConfigured(
            "OWNER_DATABASE_URL is not set, or names the role of DATABASE_URL: set it to the URL of the role that"
            " owns the schema, and DATABASE_URL to that of the role that the service is to run under."
        )
    password = connections[SERVING].settings_dict["PASSWORD"]
    connection = connections[OWNER]
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = %s", [role])
        present = cursor.fetchone()
        if present is None:
            cursor.execute(_compose("CREATE ROLE {} LOGIN", role))
        elif any(present):
            raise ImproperlyConfigured(
                f"The role {role} of DATABASE_URL is a superuser, or may create roles or databases: name another role."
            )
        if password:
            encrypted = connection.connection.pgconn.encrypt_password(
                password.encode(), role.encode(), b"scram-sha-256"
            ).decode()
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(encrypted))
            cursor.execute(statement.as_string(connection.connection))
    return role


def grant(role: str) -> int:
    """Gives `role` the privileges that the models name and takes all others; how many tables there are."""
    connection = connections[OWNER]
    tables = list(_privileges(connection))
    with transaction.atomic(using=OWNER), connection.cursor() as cursor:
        for statement in _statements(role, connection.settings_dict["NAME"], tables):
            cursor.execute(statement)
    return len(tables)


def _statements(role: str, database: str, tables: list[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    yield "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
    yield _compose("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}", database, role)
    yield _compose("GRANT USAGE ON SCHEMA public TO {}", role)
    yield _compose("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}", role)
    yield _compose("REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {}", role)
    yield _compose("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}", role)
    for table, privileges in tables:
        yield _compose("GRANT " + ", ".join(privileges) + " ON {} TO {}", table, role)


def _privileges(connection: BaseDatabaseWrapper) -> Iterator[tuple[str, tuple[str, ...]]]:
    present = set(connection.introspection.table_names())
    declared: dict[str, tuple[str, ...]] = dict(RESTRICTED_TABLES)
    for model in apps.get_models(include_auto_created=True):
        declared.setdefault(_table(model), getattr(model, "serving_privileges", DEFAULT_PRIVILEGES))
    return ((table, privileges) for table, privileges in sorted(declared.items()) if table in present)


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table  # noqa: SLF001 - Django's public name for it


def _compose(statement: str, *names: str) -> str:
    # DDL takes no parameters; names are quoted by psycopg.
    return sql.SQL(statement).format(*map(sql.Identifier, names)).as_string(None)
