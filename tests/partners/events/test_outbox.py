"""Events are written in the transaction of the change that they report, whatever makes it (contract, section 10)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from partners.events.relay import Relay
from partners.models import Event
from tests.factories import NOON, ConversionFactory, DocumentFactory, UserFactory
from transactions.models import Conversion
from users.models import Status, User

pytestmark = pytest.mark.django_db


def events() -> list[tuple[str, dict[str, Any]]]:
    """The events of the outbox's entries, which a transaction leaves when it commits."""
    Relay().place()
    return [(event.type, event.data) for event in Event.objects.order_by("id")]


def test_a_new_user_is_no_event() -> None:
    UserFactory()

    assert events() == []


def test_a_decision_is_an_event() -> None:
    user = UserFactory(status=Status.ACTIVE)
    user.refresh_from_db()

    updated_at = f"{user.updated_at:%Y-%m-%dT%H:%M:%S.%f}Z"
    data = {"externalId": user.external_id, "userId": str(user.id), "status": "active", "updatedAt": updated_at}
    assert events() == [("user.statusChanged", data)]


def test_a_change_of_the_profile_is_none() -> None:
    user = UserFactory()
    User.objects.filter(pk=user.pk).update(city="Ottawa")

    assert events() == []


def test_conversions_of_a_transaction_are_one_event_for_each_user() -> None:
    ada, grace = UserFactory(), UserFactory()
    ConversionFactory(user=ada, created_at=NOON)
    ConversionFactory(user=grace, created_at=NOON)
    ConversionFactory(user=ada, created_at=NOON - timedelta(days=1))
    ConversionFactory(user=ada, created_at=NOON + timedelta(days=1))

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
    document = DocumentFactory()

    kind, data = events()[-1]
    assert kind == "user.documentPublished"
    assert data["documentId"] == str(document.document_id)
    assert data["type"] == document.type


def test_a_change_that_is_rolled_back_leaves_no_event() -> None:
    user = UserFactory()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        ConversionFactory(user=user)
        1 / 0  # noqa: B018

    assert events() == []
