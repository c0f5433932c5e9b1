"""What axe-core finds on the pages where staff spend their day, on a desk and on a phone: nothing serious.

A page is opened on a phone, where it has to fit, and looked at in dark; then it is widened, and looked at in light.
"""

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.browser.axe import accessibility_violations
from tests.browser.cases import DESK, PHONE, Register, fits, open_decision, resize
from users.file import entries
from users.models import FileKind, User
from users.retention import place_hold

# The most that a card with six values is high, in CSS pixels, and one with four risk flags by name as well.
SHORT_CARD, FLAGGED_CARD = 190, 270
QUEUE, USERS, EVENTS = "/admin/users/user/queue/", "/admin/users/user/", "/admin/users/userevent/"


@pytest.fixture
def odd(register: Register) -> User:
    """A case with risk flags, some of which name another user, and a neighbour in the queue without any."""
    register(email="charles@example.com", firstName="Charles", lastName="Babbage")
    register(externalId="odd-twin")
    return register(postalCode="V5K 0A1", isCiroAffiliate=True)


def assert_short_cards(page: Page, path: str) -> None:
    """A row of a list is a short card on a phone."""
    heights, flagged = (
        page.evaluate(f"[...document.querySelectorAll('{rows}')].map((row) => row.offsetHeight)")
        for rows in (".data-row:not(:has(.bo-flags))", ".data-row:has(.bo-flags)")
    )
    assert len(heights) + len(flagged) >= 3, path
    assert max(heights, default=0) <= SHORT_CARD, path
    assert max(flagged, default=0) <= FLAGGED_CARD, path


def test_pages_of_a_reviewer_have_no_serious_violation_and_fit_a_phone(
    page: Page, login: Callable[..., Staff], odd: User
) -> None:
    page.goto("/admin/account/login/")
    assert not accessibility_violations(page)
    case = f"/admin/cases/{odd.pk}/"
    place_hold(user=odd, by=factories.StaffFactory.create(role="reviewer"), reason="Litigation.")
    login(page, "reviewer", path="about:blank")
    for path in (f"{USERS}?q=nobody", EVENTS, "/admin/", case, QUEUE, USERS):
        resize(page, PHONE)
        page.goto(path)
        assert fits(page), path
        assert not accessibility_violations(page, "dark"), path
        if path in (USERS, EVENTS, QUEUE):
            assert_short_cards(page, path)
        resize(page, DESK)
        if path in ("/admin/", case, QUEUE):
            assert not accessibility_violations(page, "light"), path
        if path == case:
            expect(open_decision(page, "Reject")).to_be_visible()
            assert not accessibility_violations(page), "dialog"
        if path == QUEUE:
            page.locator("#changelist a", has_text="Filters").first.click()
            expect(page.get_by_label("waiting time")).to_be_visible()
            assert not accessibility_violations(page), "filters"
    page.get_by_role("checkbox", name="Select record").first.check()
    assert not accessibility_violations(page), "actions"


def test_the_file_of_a_user_has_no_serious_violation(
    page: Page, login: Callable[..., Staff], register: Register
) -> None:
    # One of its own: other tests look at how high the card of a case with its flags is.
    user, by = register(email=f"{uuid4().hex}@example.com"), factories.StaffFactory.create(role="reviewer")
    match = {"list": "Demo list", "listDate": "2026-01-15", "result": "possibleMatch", "reference": "D-1"}
    entries.record(user_id=user.pk, born=user.date_of_birth, kind="screening", data=match, by=by)
    login(page, "reviewer", path="about:blank")
    file = f"/admin/cases/{user.pk}/file"
    kinds = (f"{file}/{kind}/" for kind in FileKind.values)
    dual = f"{file}/identityVerification/?variant=dualProcess"
    for path in ("/admin/users/fileentry/screening/", "/admin/users/fileentry/riskRating/", dual, *kinds):
        resize(page, PHONE)
        page.goto(path)
        for summary in page.locator("main summary").all():
            summary.press("Enter")
        assert fits(page), path
        assert not accessibility_violations(page, "dark"), path
        resize(page, DESK)
        assert fits(page), path
        assert not accessibility_violations(page, "light"), path


def test_exports_on_a_phone_have_no_serious_violation(page: Page, login: Callable[..., Staff], odd: User) -> None:
    resize(page, PHONE)
    login(page, "auditor", path="/admin/exports/")
    assert not accessibility_violations(page)
    page.get_by_label("Partner").first.select_option(odd.partner.slug)
    page.get_by_role("button", name="Evidence packs …").click()
    expect(page.get_by_role("button", name="Export evidence packs")).to_be_visible()
    assert fits(page)
    assert not accessibility_violations(page)
    page.goto("/admin/account/factors/download/")
    expect(page.get_by_role("heading", name="The download has begun")).to_be_visible()
    assert not accessibility_violations(page)


def test_a_partner_s_page_has_no_serious_violation(
    page: Page, login: Callable[..., Staff], committed_partner: Partner
) -> None:
    login(page, "partner-manager", path=f"/admin/partners/partner/{committed_partner.pk}/change/")
    assert not accessibility_violations(page)
    page.get_by_role("link", name="Issue an API key").first.click()
    page.wait_for_url("**/issue/")
    assert not accessibility_violations(page)
    page.get_by_role("button", name="Issue", exact=True).click()
    expect(page.locator("#secret")).to_be_visible()
    assert not accessibility_violations(page)
