"""Holds in the back office, the mark of held users, and the list of what is due."""

import pytest
from django.test import Client
from pytest_django import Settings

from partners.models import Partner
from tests import factories
from tests.support.staff import client_as, words
from users.models import Hold, Status, User
from users.retention import held, place_hold

pytestmark = pytest.mark.django_db
BAND = "Held: these records are kept while there is a hold, or an open request of the person."


@pytest.fixture(autouse=True)
def without_factor(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    return made


@pytest.fixture
def reviewer() -> Client:
    return client_as("reviewer")


def hold_url(user: User) -> str:
    return f"/admin/cases/{user.pk}/hold/"


def test_a_hold_is_placed_by_one_and_released_by_another(user: User, reviewer: Client) -> None:
    response = reviewer.post(hold_url(user), {"note": "A production order."})
    assert response.headers["Location"] == f"/admin/cases/{user.pk}/"
    hold = Hold.objects.get(user=user)
    own = reviewer.get(hold_url(user)).content.decode()
    assert "You placed this hold" in own
    assert "Release the hold" not in own
    release = {"hold": str(hold.pk), "note": "It has ended."}
    refused = reviewer.post(f"{hold_url(user)}release/", release)
    assert refused.status_code == 409
    assert held({user.pk})
    other = client_as("reviewer")
    assert other.post(f"{hold_url(user)}release/", release).status_code == 302
    assert not held({user.pk})
    assert "It has ended." in other.get(hold_url(user)).content.decode()
    timeline = words(other.get(f"/admin/cases/{user.pk}/").content.decode())
    assert timeline.index("Hold released") < timeline.index("Records held")


def test_the_case_says_who_holds_it_since_when_and_why(user: User) -> None:
    by, auditor = factories.StaffFactory.create(role="auditor"), client_as("auditor")
    place_hold(user=user, by=by, reason="A production order.")
    page = auditor.get(f"/admin/cases/{user.pk}/").content.decode()
    band = page.partition(BAND)[2].partition("</p>")[0]
    assert by.username in band
    assert "A production order." in band
    assert hold_url(user) in band
    assert "A production order." not in client_as("viewer").get(f"/admin/cases/{user.pk}/").content.decode()
    # One form is open: that of the release.
    held = auditor.get(hold_url(user)).content.decode()
    assert held.index("Release the hold") < held.index("Place another hold") < held.index("Hold these records")


def test_a_hold_needs_a_reason(user: User, reviewer: Client) -> None:
    assert reviewer.post(hold_url(user), {"note": " "}).status_code == 422
    assert not Hold.objects.exists()


def test_an_unknown_hold_is_not_found(user: User, reviewer: Client) -> None:
    for hold in ("", "x", "00000000-0000-4000-8000-000000000000"):
        response = reviewer.post(f"{hold_url(user)}release/", {"hold": hold, "note": "Done."})
        assert response.status_code == 404, hold


def test_every_page_of_a_held_user_says_so(user: User) -> None:
    client = client_as("superuser")
    case = f"/admin/cases/{user.pk}/"
    assert BAND not in client.get(case).content.decode()
    place_hold(user=user, by=factories.StaffFactory.create(), reason="Litigation.")
    for page in (
        case,
        f"/admin/users/userevent/{user.events.latest('pgh_id').pk}/change/",
        f"/admin/users/statuschange/{user.status_changes.get().pk}/change/",
        f"{case}evidence/",
        f"{case}copy/",
    ):
        assert BAND in client.get(page).content.decode(), page
    # But not who sees no users.
    delivery = factories.WebhookDeliveryFactory.create(endpoint__partner=user.partner, event__user=user)
    page = f"/admin/events/webhookdelivery/{delivery.pk}/change/"
    for role, is_said in (("auditor", True), ("partner-manager", False)):
        assert (BAND in client_as(role).get(page).content.decode()) is is_said, role


def test_what_is_due_is_listed_for_auditors(db: None) -> None:
    assert "0 due, 0 of them held" in words(client_as("auditor").get("/admin/records/").content.decode())
