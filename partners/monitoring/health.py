"""Readiness: whether requests can be handled; its texts contain no addresses or values."""

import time
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import ConnectionTimeout, QueryCanceled, UndefinedTable
from redis.exceptions import TimeoutError as RedisTimeoutError

from partners.monitoring import probes
from partners.monitoring.probes import TIMEOUT_SECONDS, Probe

OK = "ok"
MAX_NAMED = 5
SECRETS_CACHE_SECONDS = 60.0

_migrations = Probe(probes.applied_migrations)
_undecryptable_secrets = Probe(probes.count_undecryptable_secrets, cache_seconds=SECRETS_CACHE_SECONDS)
_redis = Probe(probes.ping_redis)


class Health(NamedTuple):
    """checks: `ok` or the problem, by name. warnings: problems with which requests can still be handled, by name."""

    checks: dict[str, str]
    warnings: dict[str, str]

    @property
    def is_healthy(self) -> bool:
        """Whether all checks are ok."""
        return set(self.checks.values()) <= {OK}


def readiness() -> Health:
    """Whether requests can be handled: database, migrations, API secrets, Redis; within TIMEOUT_SECONDS."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    migrations, secrets = _migrations.start(), _undecryptable_secrets.start()
    redis = _redis.start() if settings.REDIS_URL else None
    checks = {"database": _problem(migrations, deadline)}
    if redis is not None:
        checks["redis"] = _problem(redis, deadline)
    warnings = {}
    if checks["database"] == OK:
        checks["migrations"] = _unapplied(set() if migrations.exception() else migrations.result())
        with suppress(Exception):  # without its table or in time; the other checks say so
            lost, keys = secrets.result(max(deadline - time.monotonic(), 0))
            if lost and lost == keys:
                checks["apiKeys"] = "the secret of no key in force can be decrypted"
            elif lost:
                warnings["apiKeys"] = f"keys in force whose secret cannot be decrypted: {lost}"
    return Health(checks, warnings)


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


def _unapplied(applied: set[tuple[str, str]]) -> str:
    missing = [".".join(name) for name in sorted(_migrations_of_code() - applied)]
    return f"not applied: {named(missing)}" if missing else OK


@lru_cache(maxsize=1)
def _migrations_of_code() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.nodes)
