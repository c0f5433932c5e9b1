"""The role that the service connects as, which can change neither history, stored conversions nor the schema."""

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connections, transaction
from psycopg import sql

from core.database import grants

SERVING = "default"
OWNER = "owner"


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
            _, excess = grants.differences(connections[OWNER], role)
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
    """Grant what config/grants.sql says and revoke all else, as the owner; return the number of tables."""
    with transaction.atomic(using=OWNER):
        return grants.grant(connections[OWNER], role)
