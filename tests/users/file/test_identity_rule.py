"""The rule that a user becomes active with a verified identity, and the flags of records that lack something."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import IntegrityError, transaction
from pytest_django import Settings

from core.models import AuditEntry
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import identity_rule, no_rules_left, reviewer, set_rule
from tests.support.client import PartnerClient
from tests.support.commands import outcome
from tests.support.responses import assert_error
from users.decisions import compliance, proposals
from users.decisions.risk_flags import risk_flag_codes
from users.file import entries
from users.models import FileEntry, IdentityRule, StatusChange, User
from users.models.columns import REVIEWED_COLUMNS
from users.profile import field_rules

PASSPORT = {
    "method": "photoDocument",
    "verifiedOn": "2026-01-15",
    "documentType": "passport",
    "documentNumber": "P-1",
    "issuingCountry": "CA",
}
MISSING, CHANGED, EXPIRED = "No record says", "have changed since", "has expired"


@pytest.fixture(scope="class")
def rule(django_db_setup: None) -> Iterator[None]:
    with identity_rule():
        yield


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


Verify = Callable[..., FileEntry]


@pytest.fixture
def verify(user: User, reviewer: Staff) -> Verify:
    """Records a verification of the user's identity."""

    def recorded(**changed: Any) -> FileEntry:
        data = PASSPORT | {name: str(value) for name, value in changed.items()}
        born = user.date_of_birth
        return entries.record(user_id=user.pk, born=born, kind="identityVerification", data=data, by=reviewer)

    return recorded


def change(user: User, **columns: Any) -> None:
    User.objects.filter(pk=user.pk).update(**columns)
    user.refresh_from_db()


def flags(user: User) -> set[str]:
    return set(risk_flag_codes([user])[user.pk]) & {"verifiedBeforeChange", "documentExpired"}


def refused(user: User, why: str) -> None:
    """By the rule and, as whatever SQL, by the database; a page says so beforehand."""
    with pytest.raises(RefusedError, match=why):
        factories.decide(user, "active")
    assert why in compliance.blocking_reason(user, "active")
    columns = {"user": user, "from_status": user.status, "to_status": "active", "by": reviewer(), "reason": "Seen."}
    with pytest.raises(IntegrityError, match="verified identity"), transaction.atomic():
        StatusChange.objects.create(**columns)
    assert User.objects.get(pk=user.pk).status == user.status


def test_without_the_rule_a_user_becomes_active_as_shipped(user: User) -> None:
    assert compliance.blocking_reason(user, "active") == ""
    factories.decide(user, "active")


@pytest.mark.usefixtures("rule", "within_one_day")
class TestOn:
    """Of the newest record, which must lack nothing."""

    def test_a_user_without_a_record_does_not_become_active(self, user: User, verify: Verify) -> None:
        refused(user, MISSING)
        verify()
        assert compliance.blocking_reason(user, "active") == ""
        factories.decide(user, "active")

    def test_other_moves_do_not_ask_for_one(self, user: User) -> None:
        assert compliance.blocking_reason(user, "rejected") == ""
        factories.reopen(user)

    def test_a_record_from_before_a_change_of_name_or_birth_date_does_not_do(self, user: User, verify: Verify) -> None:
        changes = {"first_name": "Grace", "last_name": "Hopper", "date_of_birth": date(1991, 1, 1)}
        # The SQL of the rule names each, too.
        assert changes.keys() == {*REVIEWED_COLUMNS}
        for name, value in changes.items():
            verify()
            change(user, **{name: value})
            refused(user, CHANGED)
            assert flags(user) == {"verifiedBeforeChange"}, name
            verify()
            assert flags(user) == set()
        # A change and back is one, too.
        change(user, first_name="Ada")
        change(user, first_name="Grace")
        refused(user, CHANGED)
        # Others are none.
        verify()
        change(user, city="Ottawa", email="other@example.com")
        assert flags(user) == set()
        factories.decide(user, "active")

    def test_a_document_does_up_to_its_last_day(self, user: User, verify: Verify) -> None:
        today = field_rules.today()
        verify(expiresOn=today - timedelta(days=1))
        refused(user, EXPIRED)
        assert flags(user) == {"documentExpired"}
        verify(expiresOn=today)
        assert flags(user) == set()
        factories.decide(user, "active")

    def test_the_newest_record_counts_though_an_older_one_lacks_nothing(self, user: User, verify: Verify) -> None:
        verify(expiresOn=field_rules.today() + timedelta(days=400))
        verify(expiresOn="2026-02-01")
        refused(user, EXPIRED)

    def test_it_holds_for_a_suspended_user_and_for_two_people(self, user: User, verify: Verify) -> None:
        first, second = reviewer(), reviewer()
        verify()
        for status in ("active", "suspended"):
            factories.StatusChangeFactory.create(user=user, to_status=status)
        verify(expiresOn="2026-02-01")
        refused(user, EXPIRED)
        with no_rules_left():
            set_rule("always", start="suspended", end="active")
            proposal = proposals.propose(
                compliance.Decision(user=user, to_status="active", by=first, reason="Cleared.")
            )
            with pytest.raises(RefusedError, match=EXPIRED):
                proposals.approve(proposal_id=proposal.pk, by=second)
            verify()
            proposals.approve(proposal_id=proposal.pk, by=second)
        assert User.objects.get(pk=user.pk).status == "active"

    def test_the_simulated_decision_is_a_conflict(self, sandbox: PartnerClient) -> None:
        sandbox.post("/v1/users", factories.user_body(externalId="ada"))
        active = {"status": "active"}
        assert MISSING in assert_error(sandbox.post("/v1/sandbox/users/ada/status", active), 409)["message"]
        sandbox.post("/v1/users/ada/verifications", PASSPORT)
        assert sandbox.post("/v1/sandbox/users/ada/status", active).json()["status"] == "active"


def test_nothing_else_tells_a_partner_that_it_is_on(api: PartnerClient, user: User) -> None:
    seen = api.get("/v1/users/ada").json()
    with identity_rule():
        assert api.get("/v1/users/ada").json() == seen


def test_flags_are_there_without_the_rule(user: User, verify: Verify) -> None:
    verify(expiresOn="2026-02-01")
    assert flags(user) == {"documentExpired"}
    change(user, first_name="Grace")
    assert flags(user) == {"verifiedBeforeChange"}


@pytest.mark.usefixtures("committed_partner")
def test_the_command_sets_and_records_it(settings: Settings) -> None:
    assert outcome("set_identity_rule", "on") == {"identityRule": "on"}
    rule = IdentityRule.objects.latest("id")
    assert (rule.is_on, rule.time_zone) == (True, settings.COMPLIANCE_TIME_ZONE)
    line = AuditEntry.objects.filter(action="identityRule.set").latest("id")
    assert (line.actor_kind, line.detail["command"], line.detail["rule"]) == ("operator", "set_identity_rule", "on")
    settings.COMPLIANCE_TIME_ZONE = "America/Vancouver"
    found = run_checks(databases=["default"], include_deployment_checks=True)
    assert [one.id for one in found if one.id == "psi.W014"]
    assert outcome("set_identity_rule", "off") == {"identityRule": "off"}
