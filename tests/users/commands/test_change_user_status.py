"""Decisions made by ops: `manage.py change_user_status`."""

from collections.abc import Callable

import pytest

from partners.models import Partner
from staff.accounts import create_staff
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed, refusal, run
from users.models import StatusChange, User


@pytest.fixture
def reviewer(db: None) -> str:
    username: str = factories.StaffFactory.create(username="rita").username
    return username


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


@pytest.fixture
def decide(partner: Partner, user: User) -> Callable[..., tuple[str, ...]]:
    """The command line of a decision about the user."""

    def command(status: str, by: str, *further: str, reason: str = "Papers seen.") -> tuple[str, ...]:
        given = (partner.slug, user.external_id, status, "--reason", reason, "--by", by)
        return ("change_user_status", *given, *further)

    return command


Decide = Callable[..., tuple[str, ...]]


def test_the_partner_sees_the_decision(decide: Decide, reviewer: str, user: User, api: PartnerClient) -> None:
    decided = outcome(*decide("active", reviewer))
    assert decided.pop("fromStatus") == "pendingCompliance"
    read = api.get("/v1/users/ada").json()
    assert decided == {name: read[name] for name in decided}


def test_who_decided_and_why_is_kept(decide: Decide, reviewer: str, user: User) -> None:
    outcome(*decide("rejected", reviewer, "--reason-code", "notVerified"))
    change = StatusChange.objects.get(user=user)
    assert (change.from_status, change.to_status) == ("pendingCompliance", "rejected")
    assert (change.by.username, change.reason, change.reason_code) == (reviewer, "Papers seen.", "notVerified")


def test_the_history_names_the_person_and_the_command(
    decide: Decide, reviewer: str, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "olivia")
    outcome(*decide("active", reviewer))
    event = User.objects.get(pk=user.pk).events.order_by("-pgh_id")[0]
    assert event.status == "active"
    assert event.pgh_context == {"staff": reviewer, "operator": "olivia", "command": "change_user_status"}


def test_people_see_the_move(decide: Decide, reviewer: str) -> None:
    assert "pendingCompliance → active" in printed(*decide("active", reviewer))


def test_a_move_that_is_not_allowed_changes_nothing(decide: Decide, reviewer: str, user: User) -> None:
    for status in ("pendingCompliance", "suspended", "closed"):
        assert "pendingCompliance" in refusal(*decide(status, reviewer))
    user.refresh_from_db()
    assert user.status == "pendingCompliance"
    assert not StatusChange.objects.exists()


def test_whose_role_does_not_decide_is_refused(decide: Decide, user: User) -> None:
    for role in ("viewer", "auditor", "partner-manager", "administrator"):
        name = factories.StaffFactory.create(role=role).username
        assert refusal(*decide("active", name)) == f"{name} may not decide about users."
    user.refresh_from_db()
    assert user.status == "pendingCompliance"


def test_a_superuser_may_decide_here(decide: Decide) -> None:
    Staff.objects.create_superuser("root", "root@example.com", "a password of some length")
    assert outcome(*decide("active", "root"))["status"] == "active"


def test_a_reviewer_who_left_is_refused(decide: Decide, reviewer: str) -> None:
    Staff.objects.filter(username=reviewer).update(is_active=False)
    assert refusal(*decide("active", reviewer)) == f"{reviewer} may not decide about users."


def test_an_account_that_is_not_staff_is_unknown(decide: Decide, reviewer: str) -> None:
    Staff.objects.filter(username=reviewer).update(is_staff=False)
    assert refusal(*decide("active", reviewer)) == f"--by: Staff account {reviewer!r} not found."


def test_nobody_acts_in_the_name_of_an_account_that_was_never_used(decide: Decide, user: User) -> None:
    create_staff(username="new", email="new@example.com", role="reviewer")
    assert (
        refusal(*decide("active", "new")) == "--by: Staff account 'new' has never signed in: nobody acts in its name."
    )
    assert User.objects.get(pk=user.pk).status == "pendingCompliance"


def test_an_unknown_staff_account_is_one_line(decide: Decide) -> None:
    assert refusal(*decide("active", "nobody")) == "--by: Staff account 'nobody' not found."


def test_another_partners_user_is_unknown(user: User, reviewer: str) -> None:
    other = factories.PartnerFactory.create().slug
    command = ("change_user_status", other, user.external_id, "active", "--reason", "x", "--by", reviewer)
    assert refusal(*command) == f"Partner {other} has no user 'ada'."


@pytest.mark.django_db
def test_an_unknown_partner_is_one_line(reviewer: str) -> None:
    command = ("change_user_status", "nobody", "u", "active", "--reason", "x", "--by", reviewer)
    assert refusal(*command) == "Partner 'nobody' not found."


def test_a_reason_is_required_and_bounded(decide: Decide, reviewer: str) -> None:
    for reason in ("", "  ", "x" * 2001):
        assert "reason" in refusal(*decide("active", reviewer, reason=reason))


def test_a_reason_code_is_one_of_the_moves(decide: Decide, reviewer: str) -> None:
    for code in ("NO_ID", "", " "):
        assert "one of: notVerified, duplicate" in refusal(*decide("rejected", reviewer, "--reason-code", code))
    outcome(*decide("rejected", reviewer, "--reason-code", "duplicate"))


def test_a_status_that_is_none_is_a_wrong_use(decide: Decide, reviewer: str) -> None:
    assert run(*decide("deleted", reviewer)).status == 2
