"""Metrics of decisions: how many this process made, what waits for a second person, and cases that wait too long."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from partners.monitoring.health import Session
from users.decisions.reasons import REASONS
from users.models import Proposal, Status, StatusChange

_decisions = Counter("psi_decisions", "Decisions about real users that this process made.", ["move", "reason"])
# Each series exists from the start: Prometheus sees no increase in one that begins at 1.
for move, reasons in REASONS.items():
    for code in ("", *(reason.value for reason in reasons)):
        _decisions.labels("-".join(move), code)

# The ages of those that can be approved: by the index of open proposals, of which each user has one at most.
_WAITING = """
    SELECT count(*), coalesce(max(extract(epoch FROM now() - created_at)), 0)::float8
      FROM ({open}) AS waiting (created_at)
"""
# These count real users; each reads a range of an index, with the late ones only.
_LATE = f"""
    SELECT count(*) FROM users_user
     WHERE NOT is_sandbox AND status = '{Status.PENDING_COMPLIANCE.value}' AND waiting_since < %s
"""
_OVERDUE = """
    SELECT count(*) FROM users_user
     WHERE NOT is_sandbox AND open_requirements > 0 AND requirements_due_at < %s
"""


def count_decision(change: StatusChange) -> None:
    """Count a decision once it is committed; those about sandbox users are not counted."""
    if not change.user.is_sandbox:
        series = _decisions.labels(f"{change.from_status}-{change.to_status}", change.reason_code)
        transaction.on_commit(series.inc)


def proposals(database: Session) -> list[Metric]:
    """How many proposals wait, and for how long the oldest has."""
    rows, given = Proposal.objects.open().values("created_at").query.sql_with_params()
    count, oldest = database.execute(_WAITING.format(open=rows), given).fetchone() or (0, 0.0)
    return [
        GaugeMetricFamily("psi_proposals_waiting", "Proposals that wait for a second person.", value=count),
        GaugeMetricFamily("psi_proposal_oldest_seconds", "How long the oldest has waited.", value=oldest),
    ]


def cases(database: Session) -> list[Metric]:
    """How many cases have waited longer than COMPLIANCE_TARGET_HOURS, and how many answers of partners are overdue."""
    now = timezone.now()
    (late,) = database.execute(_LATE, (now - timedelta(hours=settings.COMPLIANCE_TARGET_HOURS),)).fetchone() or (0,)
    (overdue,) = database.execute(_OVERDUE, (now,)).fetchone() or (0,)
    return [
        GaugeMetricFamily("psi_cases_late", "Cases that wait for compliance longer than the target.", value=late),
        GaugeMetricFamily("psi_answers_overdue", "Users whose partner has not answered in time.", value=overdue),
    ]
