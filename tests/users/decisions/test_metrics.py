"""Metrics: committed decisions about real users by move and reason, and cases that wait too long."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from prometheus_client import REGISTRY

from core.refusals import RefusedError
from partners.models import Mode, Partner
from tests import factories
from users.decisions import compliance
from users.decisions.metrics import cases
from users.decisions.reasons import REASONS
from users.models import Status, User


def counted(move: str = "pendingCompliance-active", reason: str = "verified") -> float | None:
    return REGISTRY.get_sample_value("psi_decisions_total", {"move": move, "reason": reason})


def decide(user: User, status: Status = Status.ACTIVE, code: str = "verified") -> None:
    by = factories.StaffFactory.create()
    compliance.decide(compliance.Decision(user=user, to_status=status, by=by, reason="Seen.", reason_code=code))


def test_each_move_and_reason_has_a_series_from_the_start() -> None:
    for (start, end), reasons in REASONS.items():
        for code in ("", *(reason.value for reason in reasons)):
            assert counted(f"{start}-{end}", code) is not None


def test_a_decision_is_counted_once_it_is_committed(committed_partner: Partner) -> None:
    user = factories.UserFactory.create(partner=committed_partner)
    before = counted()
    assert before is not None
    with transaction.atomic():
        decide(user)
        transaction.set_rollback(True)
    assert counted() == before
    user.refresh_from_db()
    with pytest.raises(RefusedError):
        decide(user, Status.CLOSED, "")
    decide(user)
    assert counted() == before + 1


def test_a_decision_about_a_sandbox_user_is_not_counted(committed_partner: Partner) -> None:
    partner = factories.PartnerFactory.create(mode=Mode.SANDBOX)
    before = counted()
    decide(factories.UserFactory.create(partner=partner))
    assert counted() == before


# Cases that wait


def of_cases() -> dict[str, float]:
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
    before = of_cases()
    factories.UserFactory.create(partner=partner)
    factories.UserFactory.create(partner=partner, status="active")
    factories.UserFactory.create(partner=factories.PartnerFactory.create(mode=Mode.SANDBOX))
    assert of_cases() == before | {"psi_cases_late": before["psi_cases_late"] + 1}
    later = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: later - timedelta(minutes=3))
    assert of_cases()["psi_cases_late"] == before["psi_cases_late"]


def test_answers_are_overdue_when_their_time_has_passed(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    user = factories.UserFactory.create(partner=partner)
    factories.RequirementFactory.create(user=user, due_in_days=1)
    before = of_cases()
    later = timezone.now() + timedelta(days=2)
    monkeypatch.setattr(timezone, "now", lambda: later)
    after = of_cases()
    assert after["psi_answers_overdue"] == before["psi_answers_overdue"] + 1
    # It waits for its partner, not for compliance.
    assert after["psi_cases_late"] == before["psi_cases_late"]
