"""`manage.py reset_staff_mfa`: for who has lost the second factor."""

import pytest
from allauth.mfa.models import Authenticator
from django.db import IntegrityError, ProgrammingError, connection, transaction
from pytest_django import Settings

from core.models import AuditEntry
from tests.staff.login.test_login import FACTORS, enrolled, inside, log_in, where_to
from tests.support.commands import outcome, printed, refusal, run

pytestmark = pytest.mark.django_db

REASON = "Phone lost; seen in person by Grace."


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True


def test_the_factor_is_gone_the_sessions_end_and_enrolment_is_forced() -> None:
    staff, other = enrolled(), enrolled()
    client, stays = inside(staff), inside(other)
    assert outcome("reset_staff_mfa", staff.username, "--reason", REASON) == {
        "username": staff.username,
        "factors": 1,
        "sessions": 1,
    }
    assert not Authenticator.objects.filter(user=staff).exists(), "recovery codes too"
    assert where_to(client) == "/admin/login/"
    assert where_to(stays) == ""
    assert where_to(log_in(staff)[0]) == FACTORS


def test_it_is_recorded_for_good_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "olivia")
    staff = enrolled()
    printed("reset_staff_mfa", staff.username, "--reason", REASON)
    entry = AuditEntry.objects.get(action="staff.factorReset", object=staff.username)
    assert (entry.actor, entry.detail["reason"]) == ("olivia", REASON)
    for statement in ("UPDATE core_auditentry SET actor = ''", "DELETE FROM core_auditentry"):
        with pytest.raises((ProgrammingError, IntegrityError)), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_who_is_not_there_is_one_line() -> None:
    assert "not found" in refusal("reset_staff_mfa", "nobody", "--reason", REASON)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_a_reason_is_given(reason: str) -> None:
    staff = enrolled()
    assert refusal("reset_staff_mfa", staff.username, "--reason", reason).startswith("reason: ")
    assert Authenticator.objects.filter(user=staff).exists()


def test_without_a_reason_it_is_a_wrong_use() -> None:
    assert run("reset_staff_mfa", "grace").status == 2
