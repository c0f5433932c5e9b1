"""Who tells figures that the database knows: asked when somebody scrapes, not counted.

A higher floor adds its own by `add_source`, in AppConfig.ready(); hence nothing that takes long to import is here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
from psycopg.errors import UndefinedTable

Session = psycopg.Connection[Any]


class Figure(NamedTuple):
    """One value of a gauge. name: without `psi_`. text: what it says; alike for all of one name."""

    name: str
    text: str
    value: float
    labels: Mapping[str, str] = {}


Source = Callable[[Session], Iterable[Figure]]

_SESSIONS = """
    SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'partner-service' GROUP BY 1
"""


def sessions(database: Session) -> Iterator[Figure]:
    """The sessions that all processes of the service, on any machine, have with this database."""
    for state, number in database.execute(_SESSIONS).fetchall():
        yield Figure("database_sessions", "The service's sessions with the database.", number, {"state": state})


_sources: list[Source] = [sessions]


def add_source(source: Source) -> None:
    """Adds figures of a higher floor. source: reads them in a session that it is given; may raise psycopg.Error."""
    _sources.append(source)


def all_figures(database: Session) -> list[Figure]:
    """What all sources tell; nothing of one whose table is yet to be made. Raises psycopg.Error."""
    found: list[Figure] = []
    for source in _sources:
        with suppress(UndefinedTable):
            found += source(database)
    return found
