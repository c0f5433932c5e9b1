"""Gauges that are read from the database at each scrape."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import psycopg
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg.errors import UndefinedTable

from partners.monitoring.probes import TIMEOUT_SECONDS, Probe, Session, connect

Source = Callable[[Session], Iterable[Metric]]

_SESSIONS = """
    SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name ~ '^partner-service(-deliverer)?$' GROUP BY 1
"""


def sessions(database: Session) -> list[Metric]:
    """The service's sessions with this database, those of other machines included."""
    gauge = GaugeMetricFamily("psi_database_sessions", "The service's sessions with the database.", labels=["state"])
    for state, number in database.execute(_SESSIONS).fetchall():
        gauge.add_metric([state], number)
    return [gauge]


class DatabaseCollector(Collector):
    """Gauges from several sources, and whether the database responded in time."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._probe = Probe(self._read)

    def describe(self) -> list[Metric]:
        """No metrics: registering this reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The gauges; only `psi_database_up` (0) if the database does not respond."""
        gauges: list[Metric] | None = None
        with suppress(TimeoutError, psycopg.Error):
            gauges = self._probe.start().result(TIMEOUT_SECONDS)
        is_up = gauges is not None
        yield GaugeMetricFamily("psi_database_up", "Whether the database responded to this scrape.", value=is_up)
        yield from gauges or ()

    def _read(self) -> list[Metric]:
        gauges: list[Metric] = []
        with connect() as database:
            for source in self._sources:
                with suppress(UndefinedTable):  # not migrated yet
                    gauges += source(database)
        return gauges
