"""Whether Redis answers, asked at each scrape."""

from collections.abc import Iterator

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from partners.monitoring.probes import TIMEOUT_SECONDS, Probe, ping_redis


class RedisCollector(Collector):
    """`psi_redis_up`; nothing where REDIS_URL is empty."""

    def __init__(self) -> None:
        self._probe = Probe(ping_redis)

    def describe(self) -> list[Metric]:
        """No metrics: registering this asks nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """1 if Redis answered within TIMEOUT_SECONDS, else 0."""
        if not settings.REDIS_URL:
            return
        try:
            self._probe.start().result(TIMEOUT_SECONDS)
            is_up = True
        except Exception:  # noqa: BLE001 - whatever it is, Redis did not answer
            is_up = False
        yield GaugeMetricFamily("psi_redis_up", "Whether Redis responded to this scrape.", value=is_up)
