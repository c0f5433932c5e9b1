"""Metrics that are read in the database at each scrape (partners/monitoring/database_gauges.py)."""

from collections.abc import Iterator

import psycopg
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from partners.monitoring.database_gauges import Figure, all_figures
from partners.monitoring.probes import WAIT_SECONDS, Question, session


def _ask() -> list[Figure]:
    with session() as database:
        return all_figures(database)


_question = Question(_ask)


class DatabaseFigures(Collector):
    """What the database tells, and whether it tells anything in time."""

    def collect(self) -> Iterator[Metric]:
        """The metrics of all sources; without an answer `psi_database_up` alone, 0."""
        found: list[Figure] = []
        try:
            found = _question.begin().result(WAIT_SECONDS)
            is_up = 1
        except (TimeoutError, psycopg.Error):
            is_up = 0
        yield GaugeMetricFamily("psi_database_up", "Whether the database answered this scrape.", value=is_up)
        yield from _metrics(found)


def _metrics(figures: list[Figure]) -> Iterator[Metric]:
    families: dict[str, GaugeMetricFamily] = {}
    for figure in figures:
        family = families.get(figure.name)
        if family is None:
            family = families[figure.name] = GaugeMetricFamily(
                f"psi_{figure.name}", figure.text, labels=list(figure.labels)
            )
        family.add_metric(list(figure.labels.values()), figure.value)
    yield from families.values()
