"""Notes the statements of Django's cursors and the commits of a connection (partners/observing/facts.py)."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from partners import prepared
from partners.observing.facts import facts


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
