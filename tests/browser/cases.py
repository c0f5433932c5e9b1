"""Cases for the browser's tests, registered by partners through the running service."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from playwright.sync_api import Page, ViewportSize

from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Transport, over_http
from users.claims import take_over
from users.decisions.compliance import Decision, decide
from users.models import Status, User

# Makes a user who waits for a decision; keyword arguments replace fields of the body.
Register = Callable[..., User]

DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def transport_to(server_url: str) -> Transport:
    """Sends a partner's requests to the running service."""
    port = urlsplit(server_url).port
    assert port
    return over_http("127.0.0.1", port)


@pytest.fixture
def client(committed_partner: Partner, server_url: str) -> PartnerClient:
    """A partner of the test's own."""
    return factories.client_of(committed_partner, transport_to(server_url))


@pytest.fixture
def empty_queue(committing: None) -> None:
    """Decides about whoever an earlier test left waiting, so that *next case* brings this test's own."""
    reviewer = factories.StaffFactory.create()
    for user in User.objects.filter(status=Status.PENDING_COMPLIANCE):
        with transaction.atomic():
            take_over(user_id=user.pk, by=reviewer)
        decide(Decision(user=user, to_status=Status.REJECTED, by=reviewer, reason="Left by an earlier test."))


@pytest.fixture
def register(client: PartnerClient) -> Register:
    """Registers users of `client`'s partner."""

    def create(**fields: Any) -> User:
        response = client.post("/v1/users", factories.user_body(**fields))
        assert response.status == 201, response.body
        return User.objects.get(pk=response.json()["userId"])

    return create


def open_decision(page: Page, verb: str) -> Any:
    """Presses a decision's button; the dialog that opens."""
    page.get_by_role("button", name=verb, exact=True).click()
    return page.get_by_role("dialog")


def resize(page: Page, size: ViewportSize) -> None:
    """Gives the page another window; its scripts have seen it."""
    page.set_viewport_size(size)
    page.wait_for_function("width => window.innerWidth === width", arg=size["width"])


def fits(page: Page) -> bool:
    """Whether the page is no wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
