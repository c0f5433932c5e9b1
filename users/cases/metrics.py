"""Cases that wait too long, for metrics."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from partners.monitoring.probes import Session
from users.models import Status

# These count real users; each reads a range of an index, with the late ones only.
_LATE = f"""
    SELECT count(*) FROM users_user
     WHERE NOT is_sandbox AND status = '{Status.PENDING_COMPLIANCE.value}' AND waiting_since < %s
"""
_OVERDUE = """
    SELECT count(*) FROM users_user
     WHERE NOT is_sandbox AND open_requirements > 0 AND requirements_due_at < %s
"""


def cases(database: Session) -> list[Metric]:
    """How many cases have waited longer than COMPLIANCE_TARGET_HOURS, and how many answers of partners are overdue."""
    now = timezone.now()
    (late,) = database.execute(_LATE, (now - timedelta(hours=settings.COMPLIANCE_TARGET_HOURS),)).fetchone() or (0,)
    (overdue,) = database.execute(_OVERDUE, (now,)).fetchone() or (0,)
    return [
        GaugeMetricFamily("psi_cases_late", "Cases that wait for compliance longer than the target.", value=late),
        GaugeMetricFamily("psi_answers_overdue", "Users whose partner has not answered in time.", value=overdue),
    ]
