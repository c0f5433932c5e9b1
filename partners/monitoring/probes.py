"""What is asked of other programs for health and metrics, so that nobody waits long for one that does not answer."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

import psycopg
from django.conf import settings
from django.db import connections
from redis import Redis

from partners.monitoring.database_gauges import Session
from partners.monitoring.lost_secrets import count_lost_secrets

Answer = TypeVar("Answer")

# For all that is asked together.
WAIT_SECONDS = 1.5
CONNECT_SECONDS = 2  # psycopg's shortest
# The server ends what takes longer; who asks has gone by then.
LIMITS = "-c statement_timeout=1s -c lock_timeout=1s -c default_transaction_read_only=on"
REDIS_SECONDS = 1.0


class Question(Generic[Answer]):
    """Something asked in a thread of its own, one at a time: whoever asks while one is out gets that one's answer.

    A program that never answers holds one thread, however often it is asked.
    """

    def __init__(self, ask: Callable[[], Answer], *, keep_seconds: float = 0.0) -> None:
        """keep_seconds: for how long an answer is given again without asking; a failure is not."""
        self._ask = ask
        self._keep_seconds = keep_seconds
        self._kept_until = 0.0
        self._lock = threading.Lock()
        self._out: Future[Answer] | None = None

    def begin(self) -> Future[Answer]:
        """The answer, once it is there; its exception is what asking raised."""
        with self._lock:
            if self._out is None or (self._out.done() and time.monotonic() >= self._kept_until):
                self._out = Future()
                threading.Thread(target=self._run, args=(self._out,), name="question", daemon=True).start()
            return self._out

    def _run(self, out: Future[Answer]) -> None:
        try:
            answer = self._ask()
            self._kept_until = time.monotonic() + self._keep_seconds
            out.set_result(answer)
        except Exception as failure:  # noqa: BLE001 - it is the answer
            out.set_exception(failure)


def session() -> Session:
    """A session of its own with the service's database, short of patience. Raises psycopg.Error."""
    given = connections["default"].copy().get_connection_params() | {
        "connect_timeout": CONNECT_SECONDS,
        # Milliseconds, of a host that has gone.
        "tcp_user_timeout": 2000,
        "application_name": "partner-service-internal",
        "options": LIMITS,
        "autocommit": True,
    }
    return psycopg.connect(**given)


def applied_migrations() -> set[tuple[str, str]]:
    """App and name of each. Raises psycopg.Error."""
    with session() as database:
        return set(database.execute("SELECT app, name FROM django_migrations").fetchall())


def lost_secrets() -> int:
    """How many API keys in force have a secret that cannot be decrypted. Raises psycopg.Error."""
    with session() as database:
        return count_lost_secrets(database)


def ping_redis() -> None:
    """Raises redis.RedisError where Redis does not answer."""
    with Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    ) as client:
        client.ping()
