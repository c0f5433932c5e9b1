"""What axe-core finds on the pages where staff spend their day: nothing serious."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from partners.authentication import keys
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.browser.cases import Register, open_decision
from tests.support.client import PartnerClient
from users.file import entries
from users.models import FileKind, Status, StatusChange, User, UserEvent

SERIOUS = {"serious", "critical"}
PHONE = {"width": 390, "height": 844}
# The most that a card with six values is high, in CSS pixels, and one with four risk flags by name as well.
SHORT_CARD, FLAGGED_CARD = 190, 270
USERS = "/admin/users/user/"


def accessibility_violations(page: Page) -> list[str]:
    """Each serious violation, and the elements that it is about."""
    # A click waits until the next page has begun, not for the whole of it.
    page.wait_for_load_state()
    # Through the debugger, for the page's policy takes no script of ours.
    page.evaluate(AXE_SCRIPT)
    # Colours on their way from one to another would be measured as they are just then.
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => null)))")
    # Until the font of the icons is there, axe takes their names for text.
    page.evaluate("document.fonts.ready.then(() => null)")
    results: dict[str, list[dict[str, Any]]] = page.evaluate("axe.run({preload: false})")
    assert "color-contrast" in {one["id"] for one in results["passes"]}
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for one in results["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


@pytest.fixture(params=["light", "dark"])
def open_page(request: pytest.FixtureRequest, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page in this colour scheme."""

    def do(**options: Any) -> Page:
        return new_page(color_scheme=request.param, reduced_motion="reduce", **options)

    return do


@pytest.fixture
def odd(register: Register) -> User:
    """A case with risk flags, some of which name another user, and a neighbour in the queue without any."""
    register(email="charles@example.com", firstName="Charles", lastName="Babbage")
    register(externalId="odd-twin")
    return register(postalCode="V5K 0A1", isCiroAffiliate=True)


def test_login_has_no_serious_violation(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto("/admin/account/login/")
    assert not accessibility_violations(page)


def test_queue_case_dialog_and_landing_page_have_no_serious_violation(
    open_page: Callable[..., Page], login: Callable[..., Staff], odd: User
) -> None:
    page = open_page()
    login(page, "reviewer", path="/admin/users/user/queue/")
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    assert not accessibility_violations(page)
    page.locator("#changelist a", has_text="Filters").first.click()
    expect(page.get_by_label("waiting time")).to_be_visible()
    assert not accessibility_violations(page)
    page.goto(f"/admin/cases/{odd.pk}/")
    assert not accessibility_violations(page)
    expect(open_decision(page, "Reject")).to_be_visible()
    assert not accessibility_violations(page)
    page.goto("/admin/")
    assert not accessibility_violations(page)
    page.goto(USERS)
    page.get_by_role("checkbox", name="Select record").first.check()
    assert not accessibility_violations(page)


def test_queue_and_case_on_a_phone_have_no_serious_violation(
    open_page: Callable[..., Page], login: Callable[..., Staff], odd: User
) -> None:
    page = open_page(viewport=PHONE)
    login(page, "reviewer", path="/admin/users/user/queue/")
    lists = (USERS, f"{USERS}?q=nobody", "/admin/users/userevent/")
    for path in ("/admin/users/user/queue/", f"/admin/cases/{odd.pk}/", "/admin/", *lists):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        assert not accessibility_violations(page)


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1440, "height": 900}], ids=["phone", "desk"])
def test_the_file_of_a_user_has_no_serious_violation(
    viewport: dict[str, int], open_page: Callable[..., Page], login: Callable[..., Staff], register: Register
) -> None:
    # One of its own: other tests look at how high the card of a case with its flags is.
    user, by = register(email=f"{uuid4().hex}@example.com"), factories.StaffFactory.create(role="reviewer")
    match = {"list": "Demo list", "listDate": "2026-01-15", "result": "possibleMatch", "reference": "D-1"}
    entries.record(user_id=user.pk, born=user.date_of_birth, kind="screening", data=match, by=by)
    page = open_page(viewport=viewport)
    login(page, "reviewer", path="/admin/users/fileentry/screening/")
    file = f"/admin/cases/{user.pk}/file"
    kinds = (f"{file}/{kind}/" for kind in FileKind.values)
    dual = f"{file}/identityVerification/?variant=dualProcess"
    for path in ("/admin/users/fileentry/screening/", "/admin/users/fileentry/riskRating/", dual, *kinds):
        page.goto(path)
        for summary in page.locator("main summary").all():
            summary.press("Enter")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
        assert not accessibility_violations(page), path


def test_exports_on_a_phone_have_no_serious_violation(
    open_page: Callable[..., Page], login: Callable[..., Staff], odd: User
) -> None:
    page = open_page(viewport=PHONE)
    login(page, "auditor", path="/admin/exports/")
    assert not accessibility_violations(page)
    page.get_by_label("Partner").first.select_option(odd.partner.slug)
    page.get_by_role("button", name="Evidence packs …").click()
    expect(page.get_by_role("button", name="Export evidence packs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert not accessibility_violations(page)
    page.goto("/admin/account/factors/download/")
    expect(page.get_by_role("heading", name="The download has begun")).to_be_visible()
    assert not accessibility_violations(page)


def test_a_row_of_a_list_is_a_short_card_on_a_phone(
    new_page: Callable[..., Page], login: Callable[..., Staff], odd: User
) -> None:
    page = new_page(viewport=PHONE)
    login(page, "reviewer", path=USERS)
    for path in (USERS, "/admin/users/userevent/", "/admin/users/user/queue/"):
        page.goto(path)
        heights, flagged = (
            page.evaluate(f"[...document.querySelectorAll('{rows}')].map((row) => row.offsetHeight)")
            for rows in (".data-row:not(:has(.bo-flags))", ".data-row:has(.bo-flags)")
        )
        assert len(heights) + len(flagged) >= 3
        assert max(heights, default=0) <= SHORT_CARD
        assert max(flagged, default=0) <= FLAGGED_CARD


@pytest.fixture
def unbroken(register: Register, client: PartnerClient) -> User:
    """An active user, and one who waits, whose names and externalId are as long as they may be and without a space."""
    fields = {"firstName": "A" * 100, "lastName": "B" * 100}
    decided = register(externalId=uuid4().hex * 4, **fields)
    factories.decide(decided, Status.ACTIVE)
    register(externalId=uuid4().hex * 4, **fields)
    assert client.patch(f"/v1/users/{decided.external_id}", {"firstName": "C" * 100}).status == 200
    return decided


LISTS = (
    "/admin/users/user/queue/",
    "/admin/users/user/changed/",
    USERS,
    "/admin/users/statuschange/",
    "/admin/users/userevent/",
    "/admin/users/accessrecord/",
)


# Whether an element's text is on one line.
IS_ONE_LINE = """element => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return text.getClientRects().length === 1;
}"""


@pytest.mark.parametrize("width", [1024, 1280])
def test_a_list_with_long_words_shows_all_its_columns(
    width: int, new_page: Callable[..., Page], login: Callable[..., Staff], unbroken: User
) -> None:
    page = new_page(viewport={"width": width, "height": 900})
    # Opening the case puts the user into the access log.
    login(page, "superuser", path=f"/admin/cases/{unbroken.pk}/")
    for path in LISTS:
        page.goto(path)
        table = page.locator("#result_list")
        assert table.evaluate("table => table.offsetWidth <= table.parentElement.clientWidth"), path
    page.goto("/admin/users/statuschange/")
    assert page.locator(".field-decision .bo-badge").first.evaluate(IS_ONE_LINE)


def fits(page: Page) -> bool:
    """Whether the page is no wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_long_words_do_not_widen_pages_on_a_phone(
    new_page: Callable[..., Page], login: Callable[..., Staff], unbroken: User, committed_partner: Partner
) -> None:
    key = keys.issue(partner=committed_partner, label="L" * 100).record
    page = new_page(viewport=PHONE)
    login(page, "superuser")
    for path in (
        f"/admin/users/statuschange/{StatusChange.objects.get(user=unbroken).pk}/change/",
        f"/admin/users/userevent/{UserEvent.objects.filter(pgh_obj=unbroken).latest('pgh_id').pk}/change/",
        f"/admin/partners/apikey/{key.pk}/change/",
    ):
        page.goto(path)
        assert fits(page), path


def test_long_words_do_not_widen_an_approval_and_its_message_on_a_phone(
    new_page: Callable[..., Page], login: Callable[..., Staff], unbroken: User
) -> None:
    page = new_page(viewport=PHONE)
    login(page, "reviewer", path=f"{USERS}?partner__id__exact={unbroken.partner_id}&status__exact=pendingCompliance")
    assert fits(page)
    page.goto(f"/admin/cases/{unbroken.pk}/")
    assert fits(page)


def test_a_partner_s_page_has_no_serious_violation(
    open_page: Callable[..., Page], login: Callable[..., Staff], committed_partner: Partner
) -> None:
    page = open_page()
    login(page, "partner-manager", path=f"/admin/partners/partner/{committed_partner.pk}/change/")
    assert not accessibility_violations(page)
    page.get_by_role("link", name="Issue an API key").first.click()
    page.wait_for_url("**/issue/")
    assert not accessibility_violations(page)
    page.get_by_role("button", name="Issue", exact=True).click()
    expect(page.locator("#secret")).to_be_visible()
    assert not accessibility_violations(page)
