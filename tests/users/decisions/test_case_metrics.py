"""Metrics of cases that wait too long."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from partners.models import Mode, Partner
from tests import factories
from users.decisions.metrics import cases


def counted() -> dict[str, float]:
    return {metric.name: metric.samples[0].value for metric in cases(connection.connection)}


@pytest.fixture
def after_target(monkeypatch: pytest.MonkeyPatch, db: None) -> timedelta:
    """Python's clock is ahead by the target, and a minute."""
    now, ahead = timezone.now, timedelta(hours=settings.COMPLIANCE_TARGET_HOURS, minutes=1)
    connection.ensure_connection()
    monkeypatch.setattr(timezone, "now", lambda: now() + ahead)
    return ahead


def test_cases_over_the_target_are_counted_without_decided_and_sandbox_ones(
    partner: Partner, after_target: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counted()
    factories.UserFactory.create(partner=partner)
    factories.UserFactory.create(partner=partner, status="active")
    factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    assert counted() == before | {"psi_cases_late": before["psi_cases_late"] + 1}
    later = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: later - timedelta(minutes=3))
    assert counted()["psi_cases_late"] == before["psi_cases_late"]


def test_answers_are_overdue_when_their_time_has_passed(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    user = factories.UserFactory.create(partner=partner)
    factories.RequirementFactory.create(user=user, due_in_days=1)
    before = counted()
    later = timezone.now() + timedelta(days=2)
    monkeypatch.setattr(timezone, "now", lambda: later)
    after = counted()
    assert after["psi_answers_overdue"] == before["psi_answers_overdue"] + 1
    # It waits for its partner, not for compliance.
    assert after["psi_cases_late"] == before["psi_cases_late"]
