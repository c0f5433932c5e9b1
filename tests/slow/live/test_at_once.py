"""Simultaneous requests to two processes have one effect and one response."""

import uuid
from collections import Counter

from partners.models import IdempotencyRecord, Partner
from tests import factories
from tests.support.at_once import at_once
from tests.support.client import PartnerClient, now
from users.models import User, UserEvent

Clients = tuple[PartnerClient, PartnerClient]


def test_twenty_duplicates_under_one_key_give_one_user_and_one_answer(clients: Clients, partner: Partner) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    responses = at_once(20, lambda n: clients[n % 2].post("/v1/users", body, key=key))
    assert {(a.status, a.body, a.header("Location")) for a in responses} == {
        (201, responses[0].body, f"/v1/users/{body['externalId']}")
    }
    assert Counter(a.header("Idempotent-Replayed") for a in responses) == {"true": 19, None: 1}
    assert User.objects.filter(partner=partner).count() == 1


def test_thirty_creates_of_one_external_id_give_one_user_and_29_conflicts(clients: Clients, partner: Partner) -> None:
    body = factories.user_body()
    responses = at_once(30, lambda n: clients[n % 2].post("/v1/users", body))
    assert Counter(a.status for a in responses) == {201: 1, 409: 29}
    assert User.objects.filter(partner=partner).count() == 1


def test_one_key_for_two_bodies_at_once_lets_one_through(clients: Clients, partner: Partner) -> None:
    bodies, key = [factories.user_body(), factories.user_body()], str(uuid.uuid4())
    responses = at_once(10, lambda n: clients[n % 2].post("/v1/users", bodies[n % 2], key=key))
    assert {a.status for a in responses} == {201, 400}
    assert User.objects.filter(partner=partner).count() == 1


def test_a_patch_sent_twenty_times_with_one_signature_takes_effect_once(clients: Clients) -> None:
    body = factories.user_body()
    clients[0].post("/v1/users", body)
    timestamp = now()
    path = f"/v1/users/{body['externalId']}"
    responses = at_once(20, lambda n: clients[n % 2].patch(path, {"city": "Ottawa"}, timestamp=timestamp))
    assert Counter(a.status for a in responses) == {200: 1, 401: 19}


def test_updates_at_once_are_all_kept_in_the_history(clients: Clients, partner: Partner) -> None:
    body = factories.user_body()
    clients[0].post("/v1/users", body)
    path = f"/v1/users/{body['externalId']}"
    responses = at_once(12, lambda n: clients[n % 2].patch(path, {"city": f"Ottawa {n}"}, key=str(uuid.uuid4())))
    assert {a.status for a in responses} == {200}
    assert len({a.json()["updatedAt"] for a in responses}) == 12
    cities = UserEvent.objects.filter(pgh_obj__partner=partner).values_list("city", flat=True)
    assert set(cities) == {"Toronto"} | {f"Ottawa {n}" for n in range(12)}


def test_an_update_and_a_create_under_one_key_do_not_both_happen(clients: Clients, partner: Partner) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    clients[0].post("/v1/users", body)
    path = f"/v1/users/{body['externalId']}"
    another = factories.user_body()
    responses = at_once(
        8,
        lambda n: (
            clients[n % 2].patch(path, {"city": "Ottawa"}, key=key)
            if n < 4
            else clients[n % 2].post("/v1/users", another, key=key)
        ),
    )
    succeeded = {a.status for a in responses} - {400}
    assert len(succeeded) == 1
    changed = User.objects.filter(partner=partner, city="Ottawa").exists()
    assert changed + User.objects.filter(partner=partner, external_id=another["externalId"]).exists() == 1
    assert IdempotencyRecord.objects.filter(partner=partner).count() == 1
