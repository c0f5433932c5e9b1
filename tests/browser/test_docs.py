"""The docs in a browser: readable on each screen, usable without JavaScript; a secret never leaves the page."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import BrowserContext, Page, Request, expect

from portal import site
from tests.browser.test_accessibility import PHONE, accessibility_violations

REFERENCE = tuple(page.path for page in site.pages() if page.title.startswith("Reference: "))
PAGES = (
    *("/docs", "/docs/go-live", "/docs/reference", "/docs/countries", "/docs/reference/users"),
    *("/docs/reference/webhooks", "/docs/reference/schemas"),
    *("/docs/changelog", "/docs/search?q=key", "/docs/nowhere"),
)
PSI = Path(settings.BASE_DIR) / "clients" / "python" / "src" / "psi" / "__init__.py"
# Pixels at the width of 1280: what is longer is not read.
MAX_HEIGHT = 12_000


@pytest.fixture
def sent(page: Page) -> list[Request]:
    """Every request that the page makes."""
    requests: list[Request] = []

    def keep(request: Request) -> None:
        requests.append(request)

    page.on("request", keep)
    return requests


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["wide", "phone"])
def test_no_page_has_a_serious_violation_or_is_wider_than_the_screen(
    new_page: Callable[..., Page], scheme: str, viewport: dict[str, int]
) -> None:
    page = new_page(color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
        assert not accessibility_violations(page), path


@pytest.mark.parametrize("path", PAGES[:4])
def test_a_page_loads_its_files_from_this_service_only(page: Page, sent: list[Request], path: str) -> None:
    page.goto(path, wait_until="networkidle")
    assert {urlsplit(request.url).netloc for request in sent} == {urlsplit(page.url).netloc}
    responses = [request.response() for request in sent]
    assert [response.status for response in responses if response] == [200] * len(sent)
    assert len(sent) >= 4


def test_the_logo_is_in_one_place_on_every_page(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 1920, "height": 900})
    places = set()
    for path in PAGES:
        page.goto(path)
        box = page.locator(".brand img").bounding_box()
        assert box
        places.add((box["x"], box["y"]))
    assert len(places) == 1


def test_code_colours_differ_in_light_and_dark(new_page: Callable[..., Page]) -> None:
    for scheme in ("light", "dark"):
        page = new_page(color_scheme=scheme)
        page.goto("/docs")
        kinds = ("keyword", "string", "comment")
        colours = {
            page.locator(f".panel .hl-{kind}").first.evaluate("e => getComputedStyle(e).color") for kind in kinds
        }
        assert len(colours) == 3, scheme


@pytest.mark.parametrize("path", ["/docs/reference", *REFERENCE, "/docs/countries"])
def test_a_page_of_the_reference_is_not_too_long(page: Page, path: str) -> None:
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollHeight") < MAX_HEIGHT


@pytest.mark.parametrize(
    ("former", "path"), [("createUser", "/docs/reference/users"), ("schema-NewUser", "/docs/reference/schemas")]
)
def test_a_link_into_the_former_single_page_leads_to_its_place(page: Page, former: str, path: str) -> None:
    page.goto(f"/docs/reference#{former}")
    page.wait_for_url(f"**{path}#{former}")
    expect(page.locator(f"#{former}")).to_be_in_viewport()


def test_a_link_to_a_schema_unfolds_it(page: Page) -> None:
    page.goto("/docs/reference/users")
    page.get_by_role("link", name="NewUser", exact=True).click()
    expect(page.locator("#schema-NewUser").get_by_text("occupation", exact=True)).to_be_visible()
    expect(page.locator("#schema-Money").get_by_text("currency", exact=True)).to_be_hidden()


def test_the_reference_shows_a_call_in_each_language(page: Page) -> None:
    page.goto("/docs/reference/users#createUser")
    expect(page.get_by_role("region", name="create_user.py")).to_be_visible()
    page.get_by_role("group", name="createUser: language").get_by_text("curl", exact=True).click()
    expect(page.get_by_role("region", name="create_user.sh")).to_contain_text("bash psi.sh POST /v1/users")
    expect(page.get_by_role("region", name="get_user.sh")).to_be_visible()
    expect(page.get_by_role("region", name="create_user.py")).to_be_hidden()


# --- The search ---


def test_results_appear_while_typing(page: Page) -> None:
    page.goto("/docs/reference")
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Search the docs")
    expect(field).to_be_focused()
    # In one go: results of its first letters would come before on a slow machine.
    page.keyboard.insert_text("idempotency key")
    first = page.locator(".found a").first
    expect(first).to_contain_text("Idempotency")
    page.keyboard.press("ArrowDown")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/docs#idempotency$"))
    expect(page.get_by_role("heading", name="Idempotency")).to_be_in_viewport()


def test_a_focused_result_is_not_replaced(page: Page, sent: list[Request]) -> None:
    page.clock.install()
    page.goto("/docs")
    page.get_by_role("searchbox", name="Search the docs").focus()
    page.keyboard.insert_text("idempotency")
    page.clock.run_for(1000)
    first = page.locator(".found a").first
    expect(first).to_be_visible()
    page.keyboard.insert_text(" key")
    page.keyboard.press("ArrowDown")
    page.clock.run_for(1000)
    expect(first).to_be_focused()
    assert [request.url.partition("q=")[2] for request in sent if "/docs/search?" in request.url] == ["idempotency"]


def test_escape_closes_the_results(page: Page) -> None:
    page.goto("/docs")
    field = page.get_by_role("searchbox", name="Search the docs")
    field.fill("cursor")
    expect(page.locator(".found")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".found")).to_be_hidden()
    expect(field).to_be_focused()


def test_the_results_fit_on_a_phone_and_have_no_violation(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE, reduced_motion="reduce")
    page.goto("/docs")
    page.get_by_role("searchbox", name="Search the docs").fill("cursor")
    expect(page.locator(".found a").first).to_be_visible()
    box = page.locator(".found").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert not accessibility_violations(page)


def test_search_works_without_javascript(new_page: Callable[..., Page]) -> None:
    page = new_page(java_script_enabled=False)
    page.goto("/docs")
    page.get_by_role("searchbox", name="Search the docs").fill("rate limits")
    page.keyboard.press("Enter")
    expect(page.get_by_role("searchbox")).to_have_value("rate limits")
    page.locator("main").get_by_role("link", name="Rate limits").first.click()
    expect(page).to_have_url(re.compile(r"/docs#rate-limits$"))


def test_colours_follow_the_color_scheme(new_page: Callable[..., Page]) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        page = new_page(color_scheme=scheme)
        page.goto("/docs")
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


def test_a_language_chosen_once_is_chosen_everywhere(page: Page) -> None:
    page.goto("/docs")
    page.get_by_text("Node.js", exact=True).first.click()
    for name in ("ping.mjs", "create_user.mjs", "psi.mjs"):
        expect(page.get_by_role("region", name=name)).to_be_visible()
    expect(page.get_by_role("region", name="ping.py")).to_be_hidden()


def test_languages_can_be_chosen_by_the_keyboard(page: Page) -> None:
    page.goto("/docs")
    page.get_by_role("group", name="Check the signature: language").get_by_label("Python").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("region", name="ping.mjs")).to_be_visible()


def test_languages_can_be_chosen_without_javascript(new_page: Callable[..., Page]) -> None:
    page = new_page(java_script_enabled=False)
    page.goto("/docs")
    page.get_by_role("group", name="Check the signature: language").get_by_text("Bash", exact=True).click()
    expect(page.get_by_role("region", name="ping.sh")).to_be_visible()
    expect(page.get_by_role("region", name="ping.py")).to_be_hidden()
    expect(page.get_by_role("button")).to_have_count(0)


def test_an_example_is_copied_as_it_is(new_context: Callable[..., BrowserContext]) -> None:
    context = new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto("/docs")
    page.get_by_role("button", name="Copy psi.py").click()
    expect(page.get_by_role("status")).to_have_text("psi.py: copied")
    assert page.evaluate("navigator.clipboard.readText()") == PSI.read_text()


def test_the_keyboard_skips_to_the_text(page: Page) -> None:
    page.goto("/docs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the text")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_on_a_phone_the_contents_open_and_close(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE, reduced_motion="reduce")
    page.goto("/docs")
    link = page.get_by_role("link", name="Rate limits", exact=True)
    expect(link).to_be_hidden()
    page.get_by_text("On this page").click()
    link.click()
    expect(page.get_by_role("heading", name="Rate limits")).to_be_in_viewport()
    expect(link).to_be_hidden()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_long_code_can_be_unfolded(new_page: Callable[..., Page], *, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    page.goto("/docs#examples")
    code = page.get_by_role("region", name="psi.py", exact=True)
    figure = page.locator('.code[data-name="psi.py"]')
    cut = code.bounding_box()
    figure.get_by_text(f"Show all {len(PSI.read_text().splitlines())} lines").click()
    whole = code.bounding_box()
    figure.get_by_text("Show fewer").click()
    assert cut is not None
    assert whole is not None
    assert cut["height"] < 600
    assert whole["height"] > 2000
    if script:
        expect(figure.get_by_text("Show all")).to_be_in_viewport()


def test_lines_of_code_are_not_broken(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE)
    page.goto("/docs")
    environment = page.get_by_role("region", name="environment")
    assert environment.evaluate("e => getComputedStyle(e).whiteSpace") == "pre"


def test_the_contents_mark_the_current_section(page: Page) -> None:
    page.goto("/docs#errors")
    expect(page.locator(".beside [aria-current]")).to_have_text("Errors")
