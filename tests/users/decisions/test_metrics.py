"""`psi_decisions_total`: committed decisions about real users, by move and reason."""

import pytest
from django.db import transaction
from prometheus_client import REGISTRY

from partners.models import Mode, Partner
from partners.refusals import RefusedError
from tests import factories
from users.decisions.compliance import change_status
from users.decisions.reasons import REASONS
from users.models import Status, User


def counted(move: str = "pendingCompliance-active", reason: str = "verified") -> float | None:
    return REGISTRY.get_sample_value("psi_decisions_total", {"move": move, "reason": reason})


def decide(user: User, status: Status = Status.ACTIVE, code: str = "verified") -> None:
    change_status(user=user, to_status=status, by=factories.StaffFactory.create(), reason="Seen.", reason_code=code)


def test_each_move_and_reason_has_a_series_from_the_start() -> None:
    for (start, end), reasons in REASONS.items():
        for code in ("", *(reason.code for reason in reasons)):
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
