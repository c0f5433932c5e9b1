"""Screenshots of the back office with invented users: `make screenshots`.

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

from core.database import serving_role
from staff.models import Staff
from tests import factories
from tests.browser.cases import open_decision, transport_to
from tests.support.client import PartnerClient
from users import claims
from users.decisions.compliance import Decision, decide
from users.models import Status, User

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
            decided = decide(
                Decision(
                    user=user, to_status=outcome, by=chance.choice(reviewers), reason="Papers seen.", reason_code=code
                )
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


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_screenshots(
    scheme: str,
    size: ViewportSize,
    world: User,
    new_page: Callable[..., Page],
    login: Callable[..., Staff],
    screenshots: Path,
) -> None:
    """Take the login, the queue, a case, a dialog and the first page."""

    def take(page: Page, name: str, *, whole: bool = True) -> None:
        page.wait_for_load_state("networkidle")
        if whole:
            # A window as high as the page keeps sticky elements at the edge of the screenshot.
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": size["width"], "height": max(height, size["height"])})
        page.screenshot(path=screenshots / f"{name}-{scheme}-{size['width']}.png")
        page.set_viewport_size(size)

    page = new_page(color_scheme=scheme, viewport=size, reduced_motion="reduce", timezone_id="America/Toronto")
    page.goto("/admin/account/login/")
    take(page, "login")
    login(page, "reviewer", path="/admin/users/user/queue/")
    take(page, "queue")
    page.goto(f"/admin/cases/{world.pk}/")
    take(page, "case")
    take(page, "case-top", whole=False)
    open_decision(page, "Reject")
    take(page, "dialog", whole=False)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    take(page, "shortcuts", whole=False)
    page.goto("/admin/")
    take(page, "landing")
