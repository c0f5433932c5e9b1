"""The pages of webhooks in a browser."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from events.models import DeliveryState, WebhookEndpoint
from events.webhooks.deliveries import lease
from events.webhooks.results import AttemptResult, record
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.browser.axe import accessibility_violations
from tests.browser.cases import DESK, PHONE, fits, resize

WEBHOOKS = "/admin/events/webhookendpoint/"
DELIVERIES = "/admin/events/webhookdelivery/"
ATTEMPTS = [
    {"at": "2026-01-15T10:30:00.000000Z", "milliseconds": 37, "status": 503},
    {"at": "2026-01-15T10:30:05.000000Z", "milliseconds": 15000, "error": "timeout"},
]


@pytest.fixture
def webhook(committed_partner: Partner) -> WebhookEndpoint:
    """A webhook with a failed delivery, and one whose next attempt is later: its page is not reloaded."""
    endpoint = factories.WebhookEndpointFactory.create(partner=committed_partner, description="production")
    create = factories.WebhookDeliveryFactory.create
    create(endpoint=endpoint, state=DeliveryState.FAILED, attempts=ATTEMPTS)
    create(endpoint=endpoint, attempts=ATTEMPTS, next_attempt_at=timezone.now() + timedelta(hours=1))
    return endpoint


def test_a_manager_adds_a_webhook_and_tests_it(
    page: Page, login: Callable[..., Staff], committed_partner: Partner
) -> None:
    login(page, "partner-manager", path=f"/admin/partners/partner/{committed_partner.pk}/change/")
    page.get_by_role("link", name="Add a webhook").first.click()
    page.get_by_label("URL").fill("https://localhost:9999/events")
    page.get_by_label("user.statusChanged").check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_text("active", exact=True)).to_be_visible()
    page.get_by_role("link", name="Send a test").first.click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The attempt is due.")).to_be_visible()
    [leased] = lease(limit=1)
    assert not record((leased, AttemptResult(datetime.now(UTC), 23, status=204)))
    expect(page.get_by_text("Delivered", exact=True)).to_be_visible()
    expect(page.get_by_text("HTTP 204")).to_be_visible()
    expect(page.get_by_text("The attempt is due.")).to_have_count(0)


def pages_of(webhook: WebhookEndpoint) -> list[str]:
    partner, [newest, oldest] = webhook.partner, webhook.deliveries.order_by("-id")
    return [
        f"/admin/partners/partner/{partner.pk}/change/",
        f"/admin/partners/partner/{partner.pk}/add_webhook/",
        WEBHOOKS,
        f"{WEBHOOKS}{webhook.pk}/change/",
        *(f"{WEBHOOKS}{webhook.pk}/{action}/" for action in ("edit", "rotate", "remove")),
        DELIVERIES,
        f"{DELIVERIES}{newest.pk}/change/",
        f"{DELIVERIES}{oldest.pk}/change/",
        f"{DELIVERIES}?state__exact=skipped",
    ]


def test_pages_of_webhooks_fit_a_phone_and_have_no_serious_violation(
    page: Page, login: Callable[..., Staff], webhook: WebhookEndpoint
) -> None:
    login(page, "partner-manager", path=WEBHOOKS)
    for path in pages_of(webhook):
        resize(page, PHONE)
        page.goto(path)
        assert fits(page), path
        resize(page, DESK)
        assert not accessibility_violations(page), path
