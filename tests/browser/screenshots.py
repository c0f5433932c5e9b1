"""Screenshots of the docs, and of the back office with invented users: `make screenshots`.

Not a test: `make browser-test` leaves it out.
"""

import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connections
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize

from partners.db import serving_role
from partners.models import DeliveryState, Event, Mode, Partner, WebhookEndpoint
from partners.webhooks import endpoints
from tests import factories
from tests.browser.cases import open_decision, transport_to
from tests.docs_site.site import PAGES
from tests.support.client import PartnerClient
from users.cases import claims
from users.decisions.compliance import change_status
from users.models import Staff, Status, User

SIZES: list[ViewportSize] = [{"width": 1280, "height": 900}, {"width": 390, "height": 844}]
SCHEMES = ["light", "dark"]
PEOPLE = [
    ("Amélie", "Tremblay", "QC", "Montréal", "H2Y 1C6"),
    ("Noah", "Singh", "ON", "Toronto", "M5X 1A9"),
    ("Charlotte", "Roy", "QC", "Québec", "G1R 4S9"),
    ("Liam", "Campbell", "BC", "Vancouver", "V6B 1A1"),
    ("Olivia", "Nguyen", "AB", "Calgary", "T2P 1J9"),
    ("William", "Gagnon", "NB", "Moncton", "E1C 1A1"),
    ("Emma", "MacDonald", "NS", "Halifax", "B3H 1A1"),
    ("Lucas", "Friesen", "MB", "Winnipeg", "R3C 1A1"),
]
WAITING_HOURS = [53, 31, 25, 22, 19, 7, 3, 1]
# What the first page counts.
DAYS = 30
# Outcomes of decisions with their reasons, and how often each is chosen.
VERDICTS = {
    (Status.ACTIVE, "verified"): 30,
    (Status.ACTIVE, "riskFlagsExplained"): 6,
    (Status.REJECTED, "notVerified"): 4,
    (Status.REJECTED, "duplicate"): 2,
    (Status.REJECTED, "fraudSuspected"): 1,
}


@pytest.fixture(scope="session")
def random_numbers() -> random.Random:
    """The same numbers in each run, so that screenshots differ only where pages do."""
    return random.Random(7)


@pytest.fixture(scope="session")
def world(server_url: str, django_db_blocker: object, random_numbers: random.Random) -> User:
    """Partners, a queue with risk flags and ages, a month of decisions; the user whose case is shown."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        partners = [
            factories.PartnerFactory.create(slug=slug, name=name)
            for slug, name in [("maple", "Maple Pay"), ("northline", "Northline Exchange"), ("boreal", "Boréal Change")]
        ]
        clients = [factories.client_of(partner, transport_to(server_url)) for partner in partners]
        numbers = itertools.count(20_417)
        decide_each_day(clients, numbers, random_numbers)
        shown = fill_queue(clients, numbers)
        connections.close_all()
        return shown


@pytest.fixture(scope="session")
def sandbox_user(world: User, server_url: str, django_db_blocker: object) -> User:
    """A user of a sandbox partner."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        partner = factories.PartnerFactory.create(slug="maple-sandbox", name="Maple Pay", mode=Mode.SANDBOX)
        return register(factories.client_of(partner, transport_to(server_url)), 1, PEOPLE[0])


def register(client: PartnerClient, number: int, person: tuple[str, ...], **fields: object) -> User:
    """Register a user through the partner's API."""
    first, last, province, city, postal_code = person
    body = factories.user_body(
        externalId=f"cust-{number}",
        email=f"{last.lower()}.{number}@example.com",
        firstName=first,
        lastName=last,
        province=province,
        city=city,
        postalCode=postal_code,
        dateOfBirth=f"{1960 + number % 43}-{number % 12 + 1:02}-{number % 28 + 1:02}",
    )
    response = client.post("/v1/users", body | fields)
    assert response.status == 201, response.body
    return User.objects.get(pk=response.json()["userId"])


def decide_each_day(clients: list[PartnerClient], numbers: "itertools.count[int]", chance: random.Random) -> None:
    """Decisions on each day, after between an hour and two days."""
    reviewers = [factories.StaffFactory.create(username=name) for name in ("claire.dubois", "sam.lee")]
    for day in range(DAYS):
        for _ in range(chance.randint(1, 4)):
            flagged = chance.random() < 1 / 6
            user = register(chance.choice(clients), next(numbers), chance.choice(PEOPLE), isCiroAffiliate=flagged)
            [(outcome, code)] = chance.choices([*VERDICTS], [*VERDICTS.values()])
            decided = change_status(
                user=user, to_status=outcome, by=chance.choice(reviewers), reason="Papers seen.", reason_code=code
            )
            at = timezone.now() - timedelta(days=day, hours=chance.random() * 6)
            move_back("users_statuschange", "created_at", decided.pk, at)
            move_back(
                "users_statuschange", "waiting_since", decided.pk, at - timedelta(hours=chance.expovariate(1 / 11))
            )


def fill_queue(clients: list[PartnerClient], numbers: "itertools.count[int]") -> User:
    """Waiting users, the longest first; the one whose case is shown has several risk flags."""
    shown = None
    for client, person, hours in zip(itertools.cycle(clients), PEOPLE, WAITING_HOURS, strict=False):
        flagged = hours == WAITING_HOURS[1]
        fields = {"postalCode": "V5K 0A1", "isCiroAffiliate": True, "email": "tremblay@example.com"} if flagged else {}
        if person is PEOPLE[0]:
            fields = {"email": "tremblay@example.com"}
        user = register(client, next(numbers), person, **fields)
        if flagged:
            shown = user
            assert client.patch(f"/v1/users/{user.external_id}", {"occupation": "Architect"}).status == 200
            user.refresh_from_db()
        for column in ("status_since", "waiting_since"):
            move_back("users_user", column, user.pk, timezone.now() - timedelta(hours=hours))
    for days in (-3, 2):
        asked = register(clients[0], next(numbers), PEOPLE[4])
        due_at = timezone.now() + timedelta(days=days)
        move_back("users_requirement", "due_at", factories.RequirementFactory.create(user=asked).pk, due_at)
        move_back("users_user", "requirements_due_at", asked.pk, due_at)
    claims.claim(
        user=User.objects.get(last_name="Gagnon", status=Status.PENDING_COMPLIANCE),
        staff=factories.StaffFactory.create(username="sam.okafor"),
        request_id="",
    )
    assert shown
    return shown


def move_back(table: str, column: str, pk: int | UUID, moment: datetime | int | None) -> None:
    """Set a timestamp back, or a number of seconds, which only the owner of the tables can."""
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", [moment, pk])
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


ATTEMPTS = [
    {"at": "2026-01-15T10:30:00.000000Z", "milliseconds": 214, "status": 503},
    {"at": "2026-01-15T10:30:05.310000Z", "milliseconds": 15002, "error": "timeout"},
    {"at": "2026-01-15T10:35:24.870000Z", "milliseconds": 3, "error": "connect"},
]


@pytest.fixture(scope="session")
def webhook(world: User, django_db_blocker: object) -> WebhookEndpoint:
    """Webhooks of a partner in each state; the one that is shown fails and has deliveries in each state."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        partner = Partner.objects.get(slug="maple")
        add = factories.WebhookEndpointFactory.create
        shown = add(
            partner=partner, url="https://hooks.maple-pay.example/partner-service/events", description="production"
        )
        endpoints.rotate_secret(shown)
        add(partner=partner, types=["user.statusChanged", "user.documentPublished"], description="data warehouse")
        endpoints.disable(add(partner=partner, description="staging"), "failing")
        endpoints.disable(add(partner=partner, types=["user.transactionsRecorded"]))
        now = timezone.now()
        WebhookEndpoint.objects.filter(pk=shown.pk).update(
            last_success_at=now - timedelta(hours=3), failing_since=now - timedelta(hours=2, minutes=40)
        )
        event = factories.EventFactory.create(partner=partner)
        for earlier in Event.objects.filter(partner=partner, position__isnull=False).order_by("id")[:9]:
            factories.WebhookDeliveryFactory.create(
                endpoint=shown,
                event=earlier,
                state=DeliveryState.DELIVERED,
                attempts=[{"at": "2026-01-15T10:29:00.000000Z", "milliseconds": 87, "status": 204}],
            )
        make = factories.WebhookDeliveryFactory.create
        make(endpoint=shown, event=event, state=DeliveryState.FAILED, attempts=ATTEMPTS)
        make(endpoint=shown, event=event, state=DeliveryState.SKIPPED)
        make(endpoint=shown, event=event, attempts=ATTEMPTS[:2], next_attempt_at=now + timedelta(minutes=28))
        connections.close_all()
        return shown


def take_webhooks(page: Page, endpoint: WebhookEndpoint, take: Callable[..., None]) -> None:
    """Take the pages of webhooks and of their deliveries."""
    empty = Partner.objects.get(slug="boreal")
    page.goto(f"/admin/partners/partner/{empty.pk}/change/")
    take(page, "webhooks-none")
    page.goto(f"/admin/partners/partner/{endpoint.partner_id}/add_webhook/")
    take(page, "webhook-add")
    page.get_by_label("URL").fill("http://hooks.maple-pay.example/")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("alert").wait_for()
    take(page, "webhook-add-refused")
    page.goto("/admin/partners/webhookendpoint/")
    take(page, "webhooks")
    page.goto(f"/admin/partners/webhookendpoint/{endpoint.pk}/change/")
    take(page, "webhook")
    page.goto(f"/admin/partners/webhookendpoint/{endpoint.pk}/rotate/")
    take(page, "webhook-rotate")
    page.get_by_label("Overlap in hours").fill("0")
    page.get_by_role("button", name="Rotate", exact=True).click()
    page.locator("#secret").wait_for()
    take(page, "webhook-secret")
    page.goto(f"/admin/partners/webhookendpoint/{endpoint.pk}/remove/")
    take(page, "webhook-remove")
    page.goto("/admin/partners/webhookdelivery/")
    take(page, "deliveries")
    page.goto("/admin/partners/webhookdelivery/?state=failed&type=webhook.test")
    take(page, "deliveries-empty")
    for state in ("pending", "failed"):
        delivery = endpoint.deliveries.filter(state=state).earliest("id")
        page.goto(f"/admin/partners/webhookdelivery/{delivery.pk}/change/")
        take(page, f"delivery-{state}")


@pytest.fixture
def people(enrolled: Callable[[str], Staff]) -> dict[str, Staff]:
    """The staff of one set of screenshots: each code of their app is good for one login."""
    return {role: enrolled(role) for role in ("reviewer", "partner-manager")}


def take_lists(page: Page, shown: User, take: Callable[..., None]) -> None:
    """Take the admin's lists, its page of a user, and the pages of its actions."""
    page.goto("/admin/users/queueduser/?q=tremblay")
    take(page, "queue-search")
    page.locator("#changelist a", has_text="Filters").first.click()
    take(page, "queue-filters", whole=False)
    page.goto("/admin/users/queueduser/?province=PE")
    take(page, "queue-empty")
    page.goto("/admin/users/changeduser/")
    take(page, "changed-empty")
    page.goto("/admin/users/user/")
    take(page, "users")
    page.get_by_role("checkbox", name="Select record").first.check()
    take(page, "users-actions", whole=False)
    page.goto("/admin/users/user/?status__exact=closed")
    take(page, "users-empty")
    page.goto("/admin/users/statuschange/")
    take(page, "decisions")
    page.goto("/admin/users/userevent/")
    take(page, "history")


def pages_of_sandbox(user: User) -> dict[str, str]:
    """The pages that say that a user is not real."""
    return {
        "sandbox-case": f"/admin/cases/{user.pk}/",
        "sandbox-queue": "/admin/users/queueduser/?mode=sandbox",
    }


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_screenshots(
    scheme: str,
    size: ViewportSize,
    world: User,
    webhook: WebhookEndpoint,
    sandbox_user: User,
    new_page: Callable[..., Page],
    login: Callable[..., Staff],
    people: dict[str, Staff],
    screenshots: Path,
) -> None:
    """Take one of each page."""

    def take(page: Page, name: str, *, whole: bool = True) -> None:
        page.wait_for_load_state("networkidle")
        if whole:
            # A window as high as the page keeps sticky elements at the edge of the screenshot.
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": size["width"], "height": max(height, size["height"])})
        page.screenshot(path=screenshots / f"{name}-{scheme}-{size['width']}.png")
        page.set_viewport_size(size)

    def open_one() -> Page:
        return new_page(color_scheme=scheme, viewport=size, reduced_motion="reduce", timezone_id="America/Toronto")

    page = open_one()
    page.goto("/admin/account/login/")
    take(page, "login")
    login(page, "reviewer", staff=people["reviewer"], path="/admin/users/queueduser/")
    take(page, "queue")
    page.goto(f"/admin/cases/{world.pk}/")
    take(page, "case")
    take(page, "case-top", whole=False)
    open_decision(page, "Reject")
    take(page, "dialog", whole=False)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    take(page, "shortcuts", whole=False)
    take_lists(page, world, take)
    for name, path in pages_of_sandbox(sandbox_user).items():
        page.goto(path)
        take(page, name, whole=False)
    page.goto("/admin/")
    take(page, "landing")

    page = open_one()
    partner = Partner.objects.get(slug="maple")
    login(
        page, "partner-manager", staff=people["partner-manager"], path=f"/admin/partners/partner/{partner.pk}/change/"
    )
    take(page, "partner")
    page.goto(f"/admin/partners/partner/{sandbox_user.partner_id}/change/")
    take(page, "sandbox-partner")
    page.goto(f"/admin/partners/partner/{partner.pk}/issue/")
    page.get_by_label("Label").fill("production")
    take(page, "issue")
    page.get_by_role("button", name="Issue", exact=True).click()
    page.locator("#secret").wait_for()
    take(page, "key")
    page.get_by_role("link", name="I have copied them").click()
    take(page, "apikey")
    page.goto("/admin/partners/apikey/")
    take(page, "apikeys")
    take_webhooks(page, webhook, take)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_screenshots_of_the_docs(
    scheme: str, size: ViewportSize, new_page: Callable[..., Page], screenshots: Path
) -> None:
    """Take each page of /docs."""
    page = new_page(color_scheme=scheme, viewport=size, reduced_motion="reduce")
    for path in PAGES:
        page.goto(path, wait_until="networkidle")
        name = path.strip("/").replace("/", "-")
        page.screenshot(path=screenshots / f"{name}-{scheme}-{size['width']}.png", full_page=True)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_screenshots_of_the_first_page_for_an_auditor(
    scheme: str,
    language: str,
    world: User,
    new_page: Callable[..., Page],
    login: Callable[..., Staff],
    enrolled: Callable[[str], Staff],
    screenshots: Path,
) -> None:
    """Take it as wide as an office's screen and as a phone's."""
    page = new_page(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    login(page, "auditor", staff=enrolled("auditor"), path="/admin/")
    page.context.set_extra_http_headers({"Accept-Language": language})
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        page.wait_for_load_state("networkidle")
        page.screenshot(path=screenshots / f"landing-auditor-{language}-{scheme}-{width}.png", full_page=True)
