"""The pages of /docs in a browser: each on each screen without a violation of its policy; tabs, search and copying."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.axe import accessibility_violations, show
from tests.browser.cases import DESK, PHONE, fits, resize
from tests.docs_site.site import PAGES

SEARCH = "/docs/search/?q=cursor"


def test_each_page_fits_a_phone_in_dark_and_a_desk_in_light_and_complies_with_its_policy(
    new_page: Callable[..., Page], server_url: str
) -> None:
    page = new_page(viewport=PHONE, reduced_motion="reduce")
    said: list[str] = []
    sent: list[Request] = []

    def keep(request: Request) -> None:
        sent.append(request)

    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", keep)
    for path in (*PAGES, SEARCH):
        # The search asks for files after it is loaded.
        page.goto(path, wait_until="networkidle" if path == SEARCH else "load")
        for viewport, scheme in ((PHONE, "dark"), (DESK, "light")):
            resize(page, viewport)
            show(page, scheme)
            assert fits(page), (path, scheme)
    assert said == []
    assert {urlsplit(request.url).netloc for request in sent} == {urlsplit(server_url).netloc}
    assert not [request.url for request in sent if request.failure]
    page.goto("/docs/nowhere")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


def test_pages_have_no_serious_violation_of_accessibility(page: Page) -> None:
    for path in ("/docs/", "/docs/errors/", "/docs/reference/documents/"):
        page.goto(path)
        assert not accessibility_violations(page), path


def test_a_tab_chooses_the_language_of_all_samples_also_on_the_next_page(page: Page) -> None:
    page.goto("/docs/")
    expect(page.locator("pre", has_text="python3 ping.py")).to_be_visible()
    page.get_by_text("Bash", exact=True).first.click()
    expect(page.locator("pre", has_text="bash ping.sh")).to_be_visible()
    expect(page.locator("pre", has_text="python3 ping.py")).to_be_hidden()
    expect(page.locator("pre", has_text="source ./psi.sh")).to_be_visible()
    page.goto("/docs/go-live/")
    expect(page.locator(".caption-text", has_text="step01_sign.sh")).to_be_visible()
    expect(page.locator(".caption-text", has_text="step01_sign.py")).to_be_hidden()


def test_copying_takes_the_code_with_the_address_of_this_service(new_context: Callable[..., BrowserContext]) -> None:
    context = new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto("/docs/")
    page.locator(".highlight", has_text="PSI_BASE_URL=").first.hover()
    page.locator(".highlight", has_text="PSI_BASE_URL=").first.get_by_role("button").click()
    origin = page.evaluate("location.origin")
    expect(page.get_by_text("Copied!").or_(page.locator("button.success")).first).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[0] == f"export PSI_BASE_URL='{origin}'"
    assert len(copied.splitlines()) == 3


def test_the_search_finds_a_page_and_marks_the_words(page: Page) -> None:
    page.goto("/docs/")
    page.get_by_role("textbox", name="Search").fill("idempotency")
    page.keyboard.press("Enter")
    found = page.locator("#search-results a").filter(has_text="Idempotency").first
    expect(found).to_be_visible()
    found.click()
    expect(page.get_by_role("heading", name="Idempotency").first).to_be_visible()


def test_the_menu_opens_on_a_phone(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport=PHONE)
    page.goto("/docs/")
    expect(page.get_by_role("link", name="Errors and retries").first).not_to_be_in_viewport()
    page.locator("label.nav-overlay-icon").click()
    page.get_by_role("link", name="Errors and retries").first.click()
    page.wait_for_url("**/docs/errors/")


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/docs/")
    page.locator(".theme-toggle-content button").click()
    chosen = page.evaluate("document.body.dataset.theme")
    assert chosen in {"light", "dark"}
    page.goto("/docs/errors/")
    assert page.evaluate("document.body.dataset.theme") == chosen
