"""Gauges that are read from the database at each scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import psycopg
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg.errors import UndefinedTable

from partners.monitoring.probes import TIMEOUT_SECONDS, Probe, Session, connect


class Sample(NamedTuple):
    """One value of a gauge. name: without `psi_`. help: the same for all samples of a name."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = {}


Source = Callable[[Session], Iterable[Sample]]

_SESSIONS = """
    SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'partner-service' GROUP BY 1
"""


def sessions(database: Session) -> Iterator[Sample]:
    """The service's sessions with this database, those of other machines included."""
    for state, number in database.execute(_SESSIONS).fetchall():
        yield Sample("database_sessions", "The service's sessions with the database.", number, {"state": state})


class DatabaseCollector(Collector):
    """Gauges from several sources, and whether the database answered in time."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._probe = Probe(self._read)

    def collect(self) -> Iterator[Metric]:
        """The gauges; only `psi_database_up` (0) if the database does not answer."""
        samples: list[Sample] = []
        try:
            samples = self._probe.start().result(TIMEOUT_SECONDS)
            is_up = 1
        except (TimeoutError, psycopg.Error):
            is_up = 0
        yield GaugeMetricFamily("psi_database_up", "Whether the database answered this scrape.", value=is_up)
        gauges: dict[str, GaugeMetricFamily] = {}
        for name, text, value, labels in samples:
            if name not in gauges:
                gauges[name] = GaugeMetricFamily(f"psi_{name}", text, labels=list(labels))
            gauges[name].add_metric(list(labels.values()), value)
        yield from gauges.values()

    def _read(self) -> list[Sample]:
        samples: list[Sample] = []
        with connect() as database:
            for source in self._sources:
                with suppress(UndefinedTable):  # not migrated yet
                    samples += source(database)
        return samples
