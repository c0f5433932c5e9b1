"""What comes to be known of a request on its way, for its log line and the metrics.

A statement does not know for which request it runs, and a refusal not where the answer will be counted; each is of
the thread that answers, so it is noted there. Nothing decides anything by what is noted.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from partners import prepared


class Facts(threading.local):
    """Of the request that this thread answers."""

    # Whose key came with it, known or not proven: a slug, and a key's prefix.
    partner: str | None = None
    key: str | None = None
    # Of a 401 (partners/troubles.py).
    cause: str | None = None
    # Statements, and the seconds that they and the commits took.
    statements: int = 0
    sql_seconds: float = 0.0

    def begin(self) -> None:
        """Forgets the request before."""
        self.partner = self.key = self.cause = None
        self.statements = 0
        self.sql_seconds = 0.0

    def add_statement(self, seconds: float) -> None:
        """Notes that a statement was run, well or not."""
        self.statements += 1
        self.sql_seconds += seconds


facts = Facts()


def watch(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Has the statements of Django's cursors on this connection noted, and the commits' time.

    The receiver of Django's `connection_created`. Prepared statements go past Django's cursors: partners/sql.py.
    """
    if _note_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_note_statement)
    driver: Any = connection.connection
    # A pool gives out the same one again.
    if "commit" not in vars(driver):
        driver.commit = partial(_commit, driver)
        driver.rollback = partial(prepared.roll_back, driver)


def _note_statement(execute: Callable[..., Any], *given: Any) -> Any:
    begun = time.perf_counter()
    try:
        return execute(*given)
    finally:
        facts.add_statement(time.perf_counter() - begun)


def _commit(driver: Any) -> None:
    begun = time.perf_counter()
    try:
        prepared.commit(driver)
    finally:
        facts.sql_seconds += time.perf_counter() - begun
