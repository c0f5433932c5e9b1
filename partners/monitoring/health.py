"""Readiness, by probes of the database and Redis with short timeouts. No text contains an address or a value."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import Any, Generic, TypeVar

import psycopg
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import ConnectionTimeout, QueryCanceled, UndefinedTable
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError

from core import encryption
from partners.models import KEY_IS_ACTIVE

T = TypeVar("T")
Session = psycopg.Connection[Any]

# All probes of a request together have this time.
TIMEOUT_SECONDS = 1.5
CONNECT_SECONDS = 2  # psycopg's minimum
SERVER_TIMEOUTS = "-c statement_timeout=1s -c lock_timeout=1s -c default_transaction_read_only=on"
REDIS_SECONDS = 1.0

# Decrypting a secret takes some 50 µs.
MAX_KEYS = 1000
_SECRETS_OF_KEYS_IN_FORCE = f"""
    SELECT key.encrypted_secret
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
     WHERE {KEY_IS_ACTIVE}
     ORDER BY key.last_used_at DESC NULLS LAST LIMIT {MAX_KEYS}
"""


class Probe(Generic[T]):
    """Runs a function in a thread, once at a time: calls during a run share its result, so a hang holds one thread."""

    def __init__(self, function: Callable[[], T], *, cache_seconds: float = 0.0) -> None:
        """cache_seconds: for how long a result is reused; a failure is not."""
        self._function = function
        self._cache_seconds = cache_seconds
        self._cached_until = 0.0
        self._lock = threading.Lock()
        self._future: Future[T] | None = None

    def start(self) -> Future[T]:
        """The result of the present run, or of a new one."""
        with self._lock:
            if self._future is None or (self._future.done() and time.monotonic() >= self._cached_until):
                self._future = Future()
                threading.Thread(target=self._run, args=(self._future,), name="probe", daemon=True).start()
            return self._future

    def _run(self, future: Future[T]) -> None:
        try:
            result = self._function()
            self._cached_until = time.monotonic() + self._cache_seconds
            future.set_result(result)
        except Exception as error:  # noqa: BLE001 - handed to the callers
            future.set_exception(error)


def connect() -> Session:
    """A read-only connection with short timeouts. Raises psycopg.Error."""
    database = connections["default"].copy()
    parameters = database.get_connection_params() | {
        "connect_timeout": CONNECT_SECONDS,
        # Milliseconds: it ends the wait for a host that disappeared.
        "tcp_user_timeout": 2000,
        "application_name": "partner-service-monitoring",
        "options": SERVER_TIMEOUTS,
        "autocommit": True,
    }
    if parameters.get("target_session_attrs") == "read-write":
        # This session is read-only by itself.
        parameters["target_session_attrs"] = "primary"
    session: Session = database.get_new_connection(parameters)
    return session


def applied_migrations() -> set[tuple[str, str]]:
    """App and name of each. Raises psycopg.Error."""
    with connect() as database:
        return set(database.execute("SELECT app, name FROM django_migrations").fetchall())


def count_undecryptable_secrets() -> tuple[int, int]:
    """Of the MAX_KEYS keys in force used last, how many have a secret that no present key decrypts; and how many."""
    with connect() as database:
        secrets = [secret for (secret,) in database.execute(_SECRETS_OF_KEYS_IN_FORCE).fetchall()]
    lost = len(secrets)
    for secret in secrets:
        with suppress(InvalidToken):
            encryption.decrypt(secret, purpose=encryption.API_SECRETS)
            lost -= 1
    return lost, len(secrets)


def ping_redis() -> None:
    """Raises redis.RedisError."""
    with Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    ) as client:
        client.ping()


# Readiness

OK = "ok"
MAX_NAMED = 5
SECRETS_CACHE_SECONDS = 60.0

_migrations = Probe(applied_migrations)
_undecryptable_secrets = Probe(count_undecryptable_secrets, cache_seconds=SECRETS_CACHE_SECONDS)
_redis = Probe(ping_redis)


def readiness() -> tuple[dict[str, str], dict[str, str]]:
    """What requests need, within TIMEOUT_SECONDS: database, migrations, API secrets, Redis; each `ok` or the problem.

    And warnings: problems with which requests can still be handled, by name.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    migrations, secrets = _migrations.start(), _undecryptable_secrets.start()
    redis = _redis.start() if settings.REDIS_URL else None
    checks = {"database": _problem(migrations, deadline)}
    if redis is not None:
        checks["redis"] = _problem(redis, deadline)
    warnings = {}
    if checks["database"] == OK:
        applied = set() if migrations.exception() else migrations.result()
        missing = [".".join(name) for name in sorted(_migrations_of_code() - applied)]
        checks["migrations"] = f"not applied: {named(missing)}" if missing else OK
        with suppress(Exception):  # without its table or in time; the other checks say so
            lost, keys = secrets.result(max(deadline - time.monotonic(), 0))
            if lost and lost == keys:
                checks["apiKeys"] = "the secret of no key in force can be decrypted"
            elif lost:
                warnings["apiKeys"] = f"keys in force whose secret cannot be decrypted: {lost}"
    return checks, warnings


def named(names: list[str]) -> str:
    """The first MAX_NAMED names, and how many there are beyond."""
    further = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {further} more" if further > 0 else "")


def _problem(result: Future[Any], deadline: float) -> str:
    try:
        result.result(max(deadline - time.monotonic(), 0))
    except UndefinedTable:
        return OK  # reachable, but not migrated
    except (TimeoutError, ConnectionTimeout, QueryCanceled, RedisTimeoutError):
        return f"does not respond within {TIMEOUT_SECONDS} seconds"
    except Exception:  # noqa: BLE001 - its text may contain an address
        return "cannot be reached"
    return OK


@lru_cache(maxsize=1)
def _migrations_of_code() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.nodes)
