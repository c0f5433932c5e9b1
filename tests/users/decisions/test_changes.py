"""What changed about a user: since the last decision, and since a page was loaded."""

from collections.abc import Callable

import pytest

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as
from tests.users.deciding import page_of, version_of
from users.decisions.compliance import Decision, decide
from users.decisions.decision_basis import Changes, changes_since, since_last_decision
from users.models import Status, User
from users.models.columns import PROFILE_COLUMNS
from users.profile.labels import LABELS, display_value


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    """Registered by the API, not the one of the directory's other tests."""
    found: User = User.objects.get(pk=create_user(externalId="ada").json()["userId"])
    return found


def changed(user: User, *, sees_identity: bool = True) -> dict[str, tuple[str, str]]:
    user.refresh_from_db()
    found: Changes = since_last_decision(user, sees_identity=sees_identity)
    return {field.column: (field.old, field.new) for field in found.fields}


def patch(api: PartnerClient, **fields: object) -> None:
    assert api.patch("/v1/users/ada", fields).status == 200


def test_every_field_that_a_partner_can_change_has_a_label() -> None:
    assert set(PROFILE_COLUMNS) <= set(LABELS)


def test_nothing_changed_in_a_user_whom_nobody_touched(user: User) -> None:
    assert changed(user) == {}


def test_before_any_decision_it_is_what_differs_from_what_was_submitted(user: User, api: PartnerClient) -> None:
    patch(api, city="Ottawa", isCiroAffiliate=True)
    assert changed(user) == {"city": ("Toronto", "Ottawa"), "is_ciro_affiliate": ("No", "Yes")}
    assert since_last_decision(user, sees_identity=True).decision is None


def test_after_one_it_is_what_differs_from_what_was_decided_on(user: User, api: PartnerClient) -> None:
    patch(api, city="Ottawa")
    factories.decide(user, Status.ACTIVE)
    assert changed(user) == {}
    patch(api, lastName="King", addressLine2=None)
    assert changed(user) == {"last_name": ("Byron", "King"), "address_line2": ("Suite 200", "–")}
    decision = since_last_decision(user, sees_identity=True).decision
    assert decision
    assert decision.to_status == "active"


def test_only_the_last_decision_counts(user: User, api: PartnerClient) -> None:
    factories.decide(user, Status.ACTIVE)
    patch(api, lastName="King")
    for status in (Status.SUSPENDED, Status.ACTIVE):
        decide(Decision(user=user, to_status=status, by=factories.StaffFactory.create(), reason="Seen."))
    patch(api, firstName="Augusta")
    assert changed(user) == {"first_name": ("Ada", "Augusta")}


def test_what_changed_there_and_back_has_not_changed(user: User, api: PartnerClient) -> None:
    patch(api, city="Ottawa")
    patch(api, city="Toronto")
    assert changed(user) == {}


def test_who_may_not_see_addresses_sees_no_change_of_one(user: User, api: PartnerClient) -> None:
    patch(api, city="Ottawa", dateOfBirth="1991-01-01", occupation="Nurse")
    assert changed(user, sees_identity=False) == {"occupation": ("Engineer", "Nurse")}


def test_the_page_shows_old_and_new(user: User, api: PartnerClient) -> None:
    factories.decide(user, Status.ACTIVE)
    patch(api, dateOfBirth="1991-01-02")
    page = page_of(client_as("reviewer"), user)
    section = page[page.index('id="changes-title"') :]
    section = section[: section.index("</section>")]
    for shown in ("Changed since the last decision", "Date of birth", "Dec. 10, 1990", "Jan. 2, 1991"):
        assert shown in section


def test_values_are_said_as_people_read_them() -> None:
    said = [("country", "CA"), ("country", "ZZ"), ("country", "TW"), ("is_ciro_affiliate", False), ("city", "")]
    assert [display_value(*one) for one in said] == ["Canada (CA)", "ZZ", "Taiwan (TW)", "No", "–"]


# Versions


def test_every_change_of_profile_or_status_is_another_version(user: User, api: PartnerClient) -> None:
    versions = [version_of(user)]
    for status in (Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE):
        factories.StatusChangeFactory.create(user=user, to_status=status)
        versions.append(version_of(User.objects.get(pk=user.pk)))
    for city in ("Ottawa", "Toronto"):
        patch(api, city=city)
        versions.append(version_of(User.objects.get(pk=user.pk)))
    assert len(set(versions)) == 6


def test_meanwhile_tells_fields_and_decisions_since_a_version(user: User, api: PartnerClient) -> None:
    patch(api, city="Ottawa")
    user.refresh_from_db()
    shown = version_of(user)
    patch(api, city="Hull", occupation="Nurse")
    factories.decide(user, Status.SUSPENDED)
    user.refresh_from_db()
    happened = changes_since(user, shown, sees_identity=True)
    assert [(field.column, field.old, field.new) for field in happened["fields"]] == [
        ("city", "Ottawa", "Hull"),
        ("occupation", "Engineer", "Nurse"),
    ]
    assert [decision.to_status for decision in happened["decisions"]] == ["active", "suspended"]
