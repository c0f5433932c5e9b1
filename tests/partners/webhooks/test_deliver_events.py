"""`deliver_events`: a process that delivers, ends in order, and may be killed."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from partners.models import DeliveryState, Partner, WebhookDelivery, WebhookEndpoint
from tests.factories import UserFactory
from tests.support.receiver import Receiver, Reply
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until
from users.models import Status

AddEndpoint = Callable[..., tuple[WebhookEndpoint, str]]


def delivered(count: int) -> Callable[[], bool]:
    return lambda: WebhookDelivery.objects.filter(state=DeliveryState.DELIVERED).count() == count


def test_an_event_is_delivered(
    committed_partner: Partner, receiver: Receiver, add_endpoint: AddEndpoint, delivering: Any
) -> None:
    _, secret = add_endpoint(committed_partner, receiver)
    user = UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    with delivering():
        wait_until(delivered(1))

    (request,) = receiver.requests
    event = Webhook(secret).verify(request.body, request.headers)
    assert (event["type"], event["data"]["userId"]) == ("user.statusChanged", str(user.pk))
    assert request.headers["webhook-id"] == event["eventId"]
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "partner-service-webhooks/1"
