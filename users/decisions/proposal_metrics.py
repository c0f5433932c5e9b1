"""Metrics of decisions of two people."""

from prometheus_client.core import GaugeMetricFamily, Metric

from partners.monitoring.probes import Session
from users.models import Proposal

# The ages of those that can be approved: by the index of open proposals, of which each user has one at most.
_WAITING = """
    SELECT count(*), coalesce(max(extract(epoch FROM now() - created_at)), 0)::float8
      FROM ({open}) AS waiting (created_at)
"""


def proposals(database: Session) -> list[Metric]:
    """How many proposals wait, and for how long the oldest has."""
    rows, given = Proposal.objects.open().values("created_at").query.sql_with_params()
    count, oldest = database.execute(_WAITING.format(open=rows), given).fetchone() or (0, 0.0)
    return [
        GaugeMetricFamily("psi_proposals_waiting", "Proposals that wait for a second person.", value=count),
        GaugeMetricFamily("psi_proposal_oldest_seconds", "How long the oldest has waited.", value=oldest),
    ]
