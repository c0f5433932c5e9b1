"""Approving several cases of the queue at once: as single decisions, each told about."""

import itertools
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backoffice.access import record_opening
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, client_of
from users.cases import claims
from users.decisions import bulk_approval, compliance
from users.decisions.compliance import change_status
from users.models import Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_PERMISSION
from users.staff.roles import ROLES

Make = Callable[..., User]
QUEUE = "/admin/users/queueduser/"
# A risk flag of the profile that is not harmless: the postal code is of another province.
FLAGGED = {"province": "ON", "postalCode": "H3B 2Y5"}


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    """Makes a user who has no risk flags but those that `fields` give."""
    numbers = itertools.count(1)

    def create(**fields: object) -> User:
        number = next(numbers)
        person = {"email": f"ada-{number}@example.com", "lastName": f"Byron-{number}"} | fields
        return User.objects.get(pk=create_user(**person).json()["userId"])

    return create


@pytest.fixture
def client(db: None) -> Client:
    return client_as("reviewer")


def choices(client: Client, *users: User) -> list[str]:
    """What the page that asks for the reason would send of these users; of all by default."""
    chosen = [user.pk for user in users or User.objects.order_by("status_since", "id")]
    text = client.post(QUEUE, {"action": "approve_selected", "_selected_action": chosen}).content.decode()
    return [unescape(value) for value in re.findall(r'name="chosen" value="([^"]*)"', text)]


def approve(client: Client, chosen: list[str], **fields: str) -> str:
    body = {"chosen": chosen, "reason_code": "verified", "note": "Papers seen."} | fields
    # Django's admin runs no action without a selected row.
    selected = [choice.partition("/")[0] for choice in chosen]
    body |= {"action": "approve_selected", "confirmed": "yes", "index": "0", "_selected_action": selected}
    return unescape(client.post(QUEUE, body, follow=True).content.decode())


def statuses(*users: User) -> list[str]:
    return [User.objects.get(pk=user.pk).status for user in users]


def test_the_chosen_are_approved_and_no_others(client: Client, make: Make) -> None:
    chosen, other = [make(), make()], make()
    text = approve(client, choices(client)[:2])
    assert "2 users were approved" in text
    assert statuses(*chosen, other) == ["active", "active", "pendingCompliance"]
    assert {(change.reason_code, change.reason) for change in StatusChange.objects.all()} == {
        ("verified", "Papers seen.")
    }


def test_each_refusal_is_told_and_holds_up_nobody(client: Client, make: Make, api: PartnerClient) -> None:
    edited, decided, claimed, fine = make(), make(), make(), make()
    chosen = choices(client)
    api.patch(f"/v1/users/{edited.external_id}", {"city": "Ottawa"})
    rejecter, holder = factories.StaffFactory.create(), factories.StaffFactory.create()
    change_status(user=decided, to_status=Status.REJECTED, by=rejecter, reason="No.")
    claims.claim(user=claimed, staff=holder)
    text = approve(client, chosen)
    assert "1 user was approved" in text
    assert "3 cases were not approved" in text
    assert "Changed since you loaded the page: City." in text
    assert f"{rejecter.username} has decided in the meantime: Rejected." in text
    assert f"{holder.username} has claimed this case." in text
    assert statuses(edited, decided, claimed, fine) == ["pendingCompliance", "rejected", "pendingCompliance", "active"]


def test_a_case_that_a_colleague_has_decided_meanwhile_is_told(client: Client, make: Make) -> None:
    decided, fine = make(), make()
    shown = choices(client)
    factories.decide(decided, Status.REJECTED)
    asked_again = approve(client, shown, reason_code="other", note="")
    assert "2 selected users" in asked_again
    text = approve(client, shown)
    assert "1 user was approved" in text
    assert "has decided in the meantime: Rejected." in text
    claimed = client.post(QUEUE, {"action": "claim_selected", "_selected_action": [decided.pk]}, follow=True)
    assert f"{decided.external_id}: This case is not waiting" in unescape(claimed.content.decode())
    assert statuses(decided, fine) == ["rejected", "active"]


REFUSED = "It has risk flags that nobody who may decide has seen: open it first."


def test_a_case_with_risk_flags_that_nobody_has_opened_is_left_as_it_is(client: Client, make: Make) -> None:
    with_flag, without = make(**FLAGGED), make()
    text = approve(client, choices(client))
    assert REFUSED in text
    assert statuses(with_flag, without) == ["pendingCompliance", "active"]


def test_a_rejected_person_who_returns_without_accents_is_not_approved_unopened(client: Client, make: Make) -> None:
    rejected = make(firstName="François-Xavier", lastName="Lévêque")
    factories.decide(rejected, Status.REJECTED)
    returned = make(firstName="Francois-Xavier", lastName="Leveque")
    assert "Same name and birth date as another user</p>" in client.get(QUEUE).content.decode()
    assert REFUSED in approve(client, choices(client, returned))
    assert statuses(rejected, returned) == ["rejected", "pendingCompliance"]
    assert "Same name and birth date as another user" in client.get(f"/admin/cases/{returned.pk}/").content.decode()
    assert "1 user was approved" in approve(client, choices(client, returned))


def test_a_harmless_flag_alone_does_not_hold_the_approval_back(client: Client, make: Make) -> None:
    user = make(isCiroAffiliate=True)
    assert "1 user was approved" in approve(client, choices(client))
    assert statuses(user) == ["active"]


def test_a_reopened_case_is_left_as_it_is_until_somebody_who_may_decide_has_opened_it(
    client: Client, make: Make, api: PartnerClient
) -> None:
    user = make()
    client.get(f"/admin/cases/{user.pk}/")
    factories.reopen(user)
    api.patch(f"/v1/users/{user.external_id}", {"lastName": "Lovelace"})
    page = client.post(QUEUE, {"action": "approve_selected", "_selected_action": [user.pk]}).content.decode()
    assert "Previously rejected" in page
    assert "not opened yet: will be left as it is" in page
    client_as("auditor").get(f"/admin/cases/{user.pk}/")
    assert REFUSED in approve(client, choices(client))
    assert statuses(user) == ["pendingCompliance"]
    client_as("reviewer").get(f"/admin/cases/{user.pk}/")
    assert "1 user was approved" in approve(client, choices(client))
    assert statuses(user) == ["active"]


def test_a_note_is_asked_where_a_rejected_user_of_the_chosen_has_changed(
    client: Client, make: Make, api: PartnerClient
) -> None:
    user, other = make(), make()
    factories.reopen(user)
    api.patch(f"/v1/users/{user.external_id}", {"lastName": "Lovelace"})
    client.get(f"/admin/cases/{user.pk}/")
    chosen = choices(client)
    asked = approve(client, chosen, note="")
    assert "A note is required." in asked
    assert asked.count("rejected before and changed since: needs a note") == 1
    assert "1 user was approved" in approve(client, choices(client, other), note="")
    bare = {"reason": "Identity and address verified", "reason_code": "verified"}
    [choice] = [bulk_approval.Choice.parse(one) for one in choices(client, user)]
    assert choice is not None
    [result] = bulk_approval.approve_all(choices=[choice], by=factories.StaffFactory.create(), source="", **bare)
    assert "add a note that says why" in result.refusal
    assert statuses(user) == ["pendingCompliance"]
    assert "1 user was approved" in approve(client, choices(client, user))


@pytest.mark.parametrize("page", ["/admin/cases/{}/", "/admin/users/user/{}/change/"])
@pytest.mark.parametrize("role", ["reviewer", "superuser"])
def test_a_case_with_risk_flags_that_somebody_who_may_decide_has_opened_is_approved(
    role: str, page: str, client: Client, make: Make
) -> None:
    user = make(**FLAGGED)
    assert client_as(role).get(page.format(user.pk)).status_code == 200
    assert "1 user was approved" in approve(client, choices(client))
    assert statuses(user) == ["active"]


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_an_opening_by_somebody_who_may_not_decide_does_not_count(role: str, client: Client, make: Make) -> None:
    user = make(**FLAGGED)
    for page in ("cases/{}/", "users/user/{}/change/"):
        assert client_as(role).get(f"/admin/{page.format(user.pk)}").status_code == 200
    assert REFUSED in approve(client, choices(client))


def test_who_may_decide_sees_all_risk_flags() -> None:
    deciding = [permissions for permissions in ROLES.values() if compliance.PERMISSION in permissions]
    assert deciding
    assert all(IDENTITY_PERMISSION in permissions for permissions in deciding)


def test_reading_the_profile_history_does_not_count_as_an_opening(client: Client, make: Make) -> None:
    user = make(**FLAGGED)
    event = UserEvent.objects.filter(pgh_obj=user).latest("pgh_id")
    assert client.get(f"/admin/users/userevent/{event.pk}/change/").status_code == 200
    assert REFUSED in approve(client, choices(client))


def test_an_opening_before_another_user_gave_the_same_email_address_does_not_count(client: Client, make: Make) -> None:
    user = make()
    client.get(f"/admin/cases/{user.pk}/")
    make(email=user.email.upper())
    assert REFUSED in approve(client, choices(client))


def test_an_opening_before_another_user_became_the_same_person_does_not_count(
    client: Client, make: Make, api: PartnerClient
) -> None:
    user, other = make(), make()
    client.get(f"/admin/cases/{user.pk}/")
    assert bulk_approval.users_with_unseen_flags([user.pk]) == set()
    assert api.patch(f"/v1/users/{other.external_id}", {"lastName": user.last_name}).status == 200
    assert bulk_approval.users_with_unseen_flags([user.pk]) == {user.pk}
    client.get(f"/admin/cases/{user.pk}/")
    assert bulk_approval.users_with_unseen_flags([user.pk]) == set()


def test_a_flag_that_appears_while_others_are_approved_is_seen_first(
    client: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make(), make()
    change_status = compliance.change_status

    def meanwhile(**arguments: Any) -> Any:
        make(email=second.email if arguments["user"] == first else first.email)
        return change_status(**arguments)

    monkeypatch.setattr(compliance, "change_status", meanwhile)
    assert REFUSED in approve(client, choices(client))
    assert sorted(statuses(first, second)) == ["active", "pendingCompliance"]


def test_an_opening_before_the_profile_changed_does_not_count(client: Client, make: Make, api: PartnerClient) -> None:
    user = make(**FLAGGED)
    client.get(f"/admin/cases/{user.pk}/")
    assert api.patch(f"/v1/users/{user.external_id}", {"city": "Ottawa"}).status == 200
    assert REFUSED in approve(client, choices(client))


def test_an_opening_before_a_conversion_was_recorded_does_not_count(client: Client, make: Make) -> None:
    user = make()
    client.get(f"/admin/cases/{user.pk}/")
    factories.add_conversions(user, [timezone.now()], while_inactive=True)
    assert REFUSED in approve(client, choices(client))
    client.get(f"/admin/cases/{user.pk}/")
    assert "1 user was approved" in approve(client, choices(client))


@pytest.mark.parametrize("page", ["cases/{}/", "users/user/{}/change/"])
def test_a_page_shows_what_changed_before_its_opening_was_recorded(
    page: str, client: Client, make: Make, api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make()
    module = "backoffice.case.actions" if page.startswith("cases") else "backoffice.users.users"

    def meanwhile(*arguments: Any) -> None:
        assert api.patch(f"/v1/users/{user.external_id}", FLAGGED).status == 200
        record_opening(*arguments)

    monkeypatch.setattr(f"{module}.record_opening", meanwhile)
    shown = client.get(f"/admin/{page.format(user.pk)}").content.decode()
    assert "H3B 2Y5 is not a postal code of ON" in shown
    assert bulk_approval.users_with_unseen_flags([user.pk]) == set()


def test_how_many_are_approved_does_not_change_how_many_statements_look_for_risk_flags(
    client: Client, make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in (1, 5):
        users = [make(**FLAGGED).pk for _ in range(number)]
        with django_assert_num_queries(2):
            assert bulk_approval.users_with_unseen_flags(users) == set(users)


def test_the_same_press_again_approves_nobody_twice(client: Client, make: Make) -> None:
    make()
    chosen = choices(client)
    approve(client, chosen)
    assert "None of the selected cases could be approved." in approve(client, chosen)
    assert StatusChange.objects.count() == 1


def test_ones_own_claims_are_approved_and_ended(make: Make) -> None:
    reviewer, user = factories.StaffFactory.create(), make()
    claims.claim(user=user, staff=reviewer)
    approve(client_of(reviewer), choices(client_of(reviewer)))
    assert statuses(user) == ["active"]
    assert claims.holder(user) is None


def test_a_claim_of_somebody_else_is_shown_before_the_approval(client: Client, make: Make) -> None:
    user, holder = make(), factories.StaffFactory.create()
    claims.claim(user=user, staff=holder)
    page = client.post(QUEUE, {"action": "approve_selected", "_selected_action": [user.pk]}).content.decode()
    assert f"claimed by {holder.username}: will be left as it is" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason_code": ""}, "Choose a reason."),
        ({"reason_code": "nonsense"}, "Select a valid choice."),
        ({"reason_code": "other", "note": ""}, "A note is required."),
        ({"note": "a" * 2001}, "at most 2000 characters"),
    ],
)
def test_without_a_reason_nothing_is_done(fields: dict[str, str], said: str, client: Client, make: Make) -> None:
    user = make()
    chosen = choices(client)
    text = approve(client, chosen, **fields)
    assert said in text
    assert f'name="chosen" value="{chosen[0]}"' in text
    assert statuses(user) == ["pendingCompliance"]


@pytest.mark.parametrize(("chosen", "said"), [([], "Items must be selected"), (["nonsense"], "Invalid selection.")])
def test_selecting_nobody_does_nothing(chosen: list[str], said: str, client: Client, make: Make) -> None:
    user = make()
    assert said in approve(client, chosen)
    assert statuses(user) == ["pendingCompliance"]


def test_an_unknown_user_or_version_is_a_refusal(client: Client, make: Make) -> None:
    user = make()
    text = approve(client, [f"{user.pk}/nonsense", "6c0e7a52-8c8f-4b43-9e57-0d1c5a3f8f0e/nonsense"])
    assert "User not found." in text
    assert statuses(user) == ["pendingCompliance"]


def test_more_than_the_bound_is_refused_as_a_whole(client: Client, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    users = [make(), make()]
    chosen = choices(client)
    monkeypatch.setattr(bulk_approval, "MAX_CASES", 1)
    assert "At most 1 at a time: 2 are chosen." in approve(client, chosen)
    assert choices(client) == []
    assert statuses(*users) == ["pendingCompliance"] * 2


@pytest.mark.parametrize("role", ["viewer", "auditor", "partner-manager", "administrator"])
def test_only_reviewers_approve(role: str, client: Client, make: Make) -> None:
    user = make()
    body = {"action": "approve_selected", "confirmed": "yes", "_selected_action": [user.pk], "chosen": choices(client)}
    response = client_as(role).post(QUEUE, body | {"reason_code": "verified"})
    assert response.status_code == 403
    assert statuses(user) == ["pendingCompliance"]


def test_after_the_report_the_list_is_as_it_was_filtered(client: Client, make: Make) -> None:
    user = make()
    body = {"action": "approve_selected", "confirmed": "yes", "_selected_action": [user.pk], "chosen": choices(client)}
    text = client.post(f"{QUEUE}?province=ON", body | {"reason_code": "verified"}).content.decode()
    assert f'href="{QUEUE}?province=ON"' in unescape(text)
