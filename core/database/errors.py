"""What PostgreSQL or libpq said where a statement failed."""

import re

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError

# serialization_failure, deadlock_detected
RETRYABLE_SQLSTATES = frozenset({"40001", "40P01"})
# feature_not_supported: "cached plan must not change result type", after a migration that changed a column's type.
STALE_PLAN = "0A000"
FOREIGN_KEY_VIOLATION = "23503"
LOCK_NOT_AVAILABLE = "55P03"
# read_only_sql_transaction, as during a failover.
READ_ONLY = "25006"
_REFUSED_CONNECTION = re.compile(r"failed: (?:FATAL: +|fe_sendauth: |(?=SSL error|server does not support SSL))(.+)")


def sqlstate(failure: BaseException | None) -> str | None:
    """PostgreSQL's error code, if the failure has one."""
    if not isinstance(failure, (DatabaseError, InterfaceError)):
        return None
    state: str | None = getattr(failure.__cause__, "sqlstate", None)
    return state


def is_stale_plan(failure: BaseException) -> bool:
    """Whether the result type of a prepared statement has changed."""
    return sqlstate(failure) == STALE_PLAN


def is_reference_gone(failure: BaseException) -> bool:
    """Whether a row was refused as what it refers to is no more, such as a user who was erased meanwhile."""
    return sqlstate(failure) == FOREIGN_KEY_VIOLATION


def may_be_committed(failure: BaseException) -> bool:
    """Whether a transaction that ended so may be committed: the server refused no statement, or shuts down (57P…)."""
    state = sqlstate(failure)
    is_in_doubt = is_unreachable(failure) and (state is None or state.startswith("57P"))
    return is_in_doubt or not isinstance(failure, Exception)


def connection_refusal(failure: BaseException) -> str:
    """What the server said against a connection, such as a wrong password; empty if nothing, or without FATAL."""
    said = _REFUSED_CONNECTION.search(str(failure)) if sqlstate(failure) is None else None
    return said[1].rstrip(".") if said else ""


def is_unreachable(failure: BaseException) -> bool:
    """Whether the database is unreachable or did not respond in time."""
    if isinstance(failure, (OperationalError, InterfaceError)):
        return True
    # psycopg raises a plain DatabaseError without an SQLSTATE if libpq lost the server during a response.
    cause = failure.__cause__
    return isinstance(failure, DatabaseError) and type(cause) is psycopg.DatabaseError and cause.sqlstate is None
