"""Widths: lists and pages on a desk and on a phone, with long names and in both languages."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from partners.authentication import keys
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.browser.cases import DESK, PHONE, Register, fits, resize
from tests.browser.screenshots import move_back
from tests.support.client import PartnerClient
from tests.users.deciding import case_of
from users.decisions.compliance import Decision, decide
from users.models import Status, StatusChange, User, UserEvent

Login = Callable[..., Staff]
USERS, CHANGES = "/admin/users/user/", "/admin/users/statuschange/"
LONG_NOTE = "The passport has expired, and the second document shows another address than the one submitted. " * 3


def test_names_ids_and_partners_are_whole_and_other_texts_short(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    long_id = "customers-2026-" + secrets.token_hex(24)
    user = register(firstName="Maximiliana-Theodora", lastName="Featherstonehaugh-Cholmondeley", externalId=long_id)
    assert client.patch(f"/v1/users/{user.external_id}", {"lastName": "Wolfeschlegelsteinhausen"}).status == 200
    reviewer = factories.StaffFactory.create()
    decide(Decision(user=user, to_status="rejected", by=reviewer, reason=LONG_NOTE, reason_code="notVerified"))
    login(page, "auditor", path=case_of(user))
    lists = ("users/statuschange", "users/userevent", "users/accessrecord", "core/auditentry")
    for path in (f"/admin/{one}/?q={long_id}" for one in lists):
        page.goto(path)
        rows = page.locator(".result-list .data-row")
        expect(rows.first).to_contain_text(f"{long_id} · {user.partner.name}")
        # A name that turns the direction of its text turns nothing else.
        name = rows.first.get_by_role("link", name=user.last_name).first
        assert name.evaluate("link => getComputedStyle(link).unicodeBidi") == "isolate"
        for width, highest in ((1280, 7 * 24), (1440, 7 * 24), (390, 20 * 24)):
            resize(page, {"width": width, "height": 900})
            heights = rows.evaluate_all("rows => rows.map((row) => row.getBoundingClientRect().height)")
            assert max(heights) < highest, (path, width)
            # Unfold's SimpleBar follows the width a moment later.
            page.wait_for_function(NOTHING_IS_CUT_OFF, arg=".overflow-x-auto, .data-row > *")


# Whether the page and what a selector finds are as wide as what is in them.
NOTHING_IS_CUT_OFF = """found => [document.documentElement, ...document.querySelectorAll(found)]
    .every((one) => one.scrollWidth <= one.clientWidth)"""


CASE_LISTS = ("user/queue", "user/asked", "user/answered", "user/changed", "user")
LISTS_OF_USERS = (
    *(f"users/{name}" for name in (*CASE_LISTS, "statuschange", "userevent", "accessrecord")),
    "transactions/conversion",
    "transactions/document",
)


def test_a_person_and_an_id_take_few_lines_on_a_wide_screen_in_both_languages(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    names = {"firstName": "Quintilliana", "lastName": "Featherstonehaugh"}
    flags = {"postalCode": "V5K 0A1", "isCiroAffiliate": True}
    waiting, asked, answered, changed = (register(externalId=str(uuid4()), **names, **flags) for _ in range(4))
    factories.RequirementFactory.create(user=asked)
    factories.answer(factories.RequirementFactory.create(user=answered))
    factories.decide(changed, Status.ACTIVE)
    assert client.patch(f"/v1/users/{changed.external_id}", {"lastName": "Cholmondeley"}).status == 200
    factories.ConversionFactory.create(user=waiting, conversion_id=str(uuid4()), from_amount="0.12345678")
    factories.DocumentFactory.create(user=waiting, title="Trade confirmation")
    resize(page, DESK)
    login(page, "superuser", path=case_of(waiting))
    for language in ("en-CA", "fr-CA"):
        page.context.set_extra_http_headers({"Accept-Language": language})
        for name in LISTS_OF_USERS:
            page.goto(f"/admin/{name}/?q=quintilliana")
            table = page.locator("#result_list")
            assert table.evaluate(ALL_ITS_COLUMNS), (name, language)
            lines = table.evaluate(LINES)
            assert max(lines["names"]) == 1, (name, language, lines)
            assert max(lines["ids"]) <= 2, (name, language, lines)
        assert page.locator("html").get_attribute("lang") == language[:2]


# Whether a table shows all its columns.
ALL_ITS_COLUMNS = "table => table.offsetWidth <= table.parentElement.clientWidth"
# The lines of each name, and of each external ID with its partner or id of a row.
LINES = """table => {
    const lines = (found) => [...table.querySelectorAll(found)].map((element) => {
        const text = document.createRange();
        text.selectNodeContents(element);
        return new Set([...text.getClientRects()].map((one) => Math.round(one.top))).size;
    });
    return {
        names: lines('.bo-link[href*="/cases/"]'),
        ids: lines('.bo-link[href*="/cases/"] + .bo-below-name, .field-conversion_id, .field-document_id'),
    };
}"""


def test_records_are_whole_on_a_phone(page: Page, login: Login, register: Register) -> None:
    user = register(firstName="Maximiliana", lastName="Featherstonehaugh", externalId=str(uuid4()))
    factories.decide(user, Status.REJECTED)
    long_ago = user.created_at - timedelta(days=366 * settings.RETENTION_YEARS)
    move_back("users_user", "status_since", user.pk, long_ago)
    resize(page, PHONE)
    login(page, "reviewer", path="/admin/records/")
    expect(page.get_by_role("link", name=user.full_name).first).to_be_visible()
    assert page.evaluate(NOTHING_IS_CUT_OFF, ".bo-scroll, .bo-scroll td")


def test_the_bar_of_actions_leaves_the_last_row_to_be_seen(page: Page, login: Login, register: Register) -> None:
    for number in range(12):
        register(country="NZ", province="", postalCode="6011", email=f"row-{number}@example.com")
    page.set_viewport_size({"width": 1280, "height": 500})
    login(page, "reviewer", path="/admin/users/user/?country=NZ")
    boxes = page.get_by_role("checkbox", name="Select record")
    boxes.first.check()
    expect(page.get_by_role("combobox")).to_be_visible()
    page.mouse.move(700, 300)
    page.mouse.wheel(0, 100_000)
    # Not a click of Playwright's: it would scroll the box out from under the bar by itself.
    is_clear = """box => {
        const {left, top, width, height} = box.getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, top + height / 2) === box;
    }"""
    page.wait_for_function(is_clear, arg=boxes.last.element_handle())


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
    CHANGES,
    "/admin/users/userevent/",
    "/admin/users/accessrecord/",
)


# Whether an element's text is on one line.
IS_ONE_LINE = """element => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return text.getClientRects().length === 1;
}"""


def test_long_words_neither_hide_columns_of_a_list_nor_widen_pages_on_a_phone(
    page: Page, login: Login, unbroken: User, committed_partner: Partner
) -> None:
    # Opening the case puts the user into the access log.
    login(page, "superuser", path=case_of(unbroken))
    for path in LISTS:
        page.goto(path)
        for width in (1024, 1280):
            resize(page, {"width": width, "height": 900})
            assert page.locator("#result_list").evaluate(ALL_ITS_COLUMNS), (path, width)
            if path == CHANGES:
                assert page.locator(".field-decision .bo-badge").first.evaluate(IS_ONE_LINE), width

    resize(page, PHONE)
    key = keys.issue(partner=committed_partner, label="L" * 100).record
    for path in (
        f"{CHANGES}{StatusChange.objects.get(user=unbroken).pk}/change/",
        f"/admin/users/userevent/{UserEvent.objects.filter(pgh_obj=unbroken).latest('pgh_id').pk}/change/",
        f"/admin/partners/apikey/{key.pk}/change/",
    ):
        page.goto(path)
        assert fits(page), path
    # What each role may do.
    page.goto(f"/admin/staff/staff/{factories.StaffFactory.create().pk}/change/")
    assert page.evaluate(NOTHING_IS_CUT_OFF, ".field-groups label, .field-groups label span")
    # With the actions of those who decide.
    login(page, "reviewer", path=f"{USERS}?partner__id__exact={unbroken.partner_id}&status__exact=pendingCompliance")
    assert fits(page)
    page.goto(case_of(unbroken))
    assert fits(page)
