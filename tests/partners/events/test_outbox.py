"""Events are written in the transaction of the change that they report, whatever makes it (contract, section 10)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from partners.events.relay import Relay
from partners.models import Event, OutboxEntry
from tests.factories import NOON, ConversionFactory, DocumentFactory, UserFactory, user_body
from tests.support.client import PartnerClient
from transactions.models import Conversion
from users.models import Status, User

pytestmark = pytest.mark.django_db


def events() -> list[tuple[str, dict[str, Any]]]:
    """The events of the outbox's entries, which a transaction leaves when it commits."""
    Relay().assign_positions()
    return [(event.type, event.data) for event in Event.objects.order_by("id")]


def test_a_new_user_is_no_event() -> None:
    UserFactory.create()

    assert events() == []


def test_requests_of_the_partner_write_nothing(api: PartnerClient) -> None:
    body = user_body()
    assert api.post("/v1/users", body).status == 201
    assert api.patch(f"/v1/users/{body['externalId']}", {"city": "Ottawa"}).status == 200

    assert not OutboxEntry.objects.exists()


def test_a_decision_is_an_event() -> None:
    user = UserFactory.create(status=Status.ACTIVE)
    user.refresh_from_db()

    updated_at = f"{user.updated_at:%Y-%m-%dT%H:%M:%S.%f}Z"
    data = {"externalId": user.external_id, "userId": str(user.id), "status": "active"}
    data |= {"statusReason": "verified", "updatedAt": updated_at}
    assert events() == [("user.statusChanged", data)]


def test_a_change_of_the_profile_is_none() -> None:
    user = UserFactory.create()
    User.objects.filter(pk=user.pk).update(city="Ottawa")

    assert events() == []


def test_conversions_of_a_transaction_are_one_event_for_each_user() -> None:
    ada, grace = UserFactory.create(), UserFactory.create()
    ConversionFactory.create(user=ada, created_at=NOON)
    ConversionFactory.create(user=grace, created_at=NOON)
    ConversionFactory.create(user=ada, created_at=NOON - timedelta(days=1))
    ConversionFactory.create(user=ada, created_at=NOON + timedelta(days=1))

    assert Conversion.objects.count() == 4
    by_user = {data["externalId"]: data for _, data in events()}
    assert by_user[ada.external_id] == {
        "externalId": ada.external_id,
        "userId": str(ada.id),
        "count": 3,
        "oldestCreatedAt": "2026-01-14T12:00:00.000000Z",
        "newestCreatedAt": "2026-01-16T12:00:00.000000Z",
    }
    assert by_user[grace.external_id]["count"] == 1
    assert len(events()) == 2


def test_a_document_is_an_event() -> None:
    document = DocumentFactory.create()

    kind, data = events()[-1]
    assert kind == "user.documentPublished"
    assert data["documentId"] == str(document.document_id)
    assert data["type"] == document.type


def test_a_change_that_is_rolled_back_leaves_no_event() -> None:
    user = UserFactory.create()
    with transaction.atomic():
        ConversionFactory.create(user=user)
        transaction.set_rollback(True)

    assert events() == []
