"""Whether the service lives, and whether it can answer: for whoever restarts it, and for whoever sends it requests.

What is wrong is told in words of our own, never in those of an exception, which can hold addresses and values.
"""

import time
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from psycopg.errors import ConnectionTimeout, QueryCanceled, UndefinedTable
from redis.exceptions import TimeoutError as RedisTimeoutError

from partners.monitoring import multiprocess
from partners.monitoring.probes import WAIT_SECONDS, Question, applied_migrations, lost_secrets, ping_redis

OK = "ok"
SILENT = f"does not answer within {WAIT_SECONDS} seconds"
# So many are named.
MOST_NAMED = 5

Name = tuple[str, str]


class Health(NamedTuple):
    """is_well: whether all of it is. checks: `ok` or what is wrong, by what was looked at.

    warnings: what ops have to look after although requests can be answered, by what was looked at.
    """

    is_well: bool
    checks: dict[str, str]
    warnings: dict[str, str]


# For how long the secrets of keys are not looked at again.
LOST_SECRETS_SECONDS = 60.0

_migrations = Question(applied_migrations)
_lost_secrets = Question(lost_secrets, keep_seconds=LOST_SECRETS_SECONDS)
_redis = Question(ping_redis)


def liveness() -> Health:
    """Whether there are workers. What they depend on is not looked at: starting anew would not mend it."""
    return _health({"workers": _workers()}, {})


def readiness() -> Health:
    """Whether requests can be answered: workers, the database, its migrations, and Redis where it is configured.

    Answers within WAIT_SECONDS, whatever hangs.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    asked: dict[str, Future[Any]] = {"database": _migrations.begin()}
    lost = _lost_secrets.begin()
    if settings.REDIS_URL:
        asked["redis"] = _redis.begin()
    checks = {"workers": _workers()} | {name: _problem(answer, deadline) for name, answer in asked.items()}
    if checks["database"] == OK:
        checks["migrations"] = _unapplied(_migrations_of(asked["database"]))
    return _health(checks, _warnings(lost, deadline))


def _health(checks: dict[str, str], warnings: dict[str, str]) -> Health:
    return Health(all(found == OK for found in checks.values()), checks, warnings)


def _warnings(lost: Future[int], deadline: float) -> dict[str, str]:
    warnings = {}
    # Partners are served without it.
    if settings.STAFF_PORT and not multiprocess.serving_workers(for_staff=True):
        warnings["staff"] = "there is no worker for staff"
    # A database that does not answer is the checks' matter.
    with suppress(Exception):
        if count := lost.result(max(deadline - time.monotonic(), 0)):
            warnings["apiKeys"] = f"keys in force whose secret cannot be decrypted: {count}"
    return warnings


def _workers() -> str:
    return OK if multiprocess.serving_workers() else "there is no worker"


def _problem(answer: Future[Any], deadline: float) -> str:
    try:
        answer.result(max(deadline - time.monotonic(), 0))
    except UndefinedTable:
        return OK  # it answers, and has no migrations
    except (TimeoutError, ConnectionTimeout, QueryCanceled, RedisTimeoutError):
        return SILENT
    except Exception:  # noqa: BLE001 - whatever it is, its text may hold an address
        return "cannot be reached"
    return OK


def _migrations_of(answer: Future[set[Name]]) -> set[Name]:
    return set() if answer.exception() else answer.result()


def _unapplied(applied: set[Name]) -> str:
    missing = [".".join(name) for name in sorted(_expected() - applied)]
    if not missing:
        return OK
    others = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return f"not applied: {', '.join(missing[:MOST_NAMED])}{others}"


@lru_cache(maxsize=1)
def _expected() -> frozenset[Name]:
    """The migrations of this code. Those that it does not know do no harm: a later version's."""
    return frozenset(MigrationLoader(None).graph.nodes)
