"""What axe-core finds on a page: nothing serious."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# The ids of the rules that the page complies with, and each serious violation with the elements that it is about.
RUN = """async (options) => {
    const {passes, violations} = await axe.run({preload: false, resultTypes: ['violations'], ...options});
    const serious = violations.filter((one) => ['serious', 'critical'].includes(one.impact));
    return [
        passes.map((one) => one.id),
        serious.flatMap(({id, nodes}) => nodes.map((one) => `${id}: ${one.html.slice(0, 200)} ${one.failureSummary}`)),
    ];
}"""
CONTRAST: dict[str, Any] = {"runOnly": ["color-contrast"]}


def accessibility_violations(page: Page, *schemes: str) -> list[str]:
    """Each serious violation in these colour schemes (light and dark), and the elements that it is about.

    The page is shown in the first of them afterwards. Only contrast differs between them.
    """
    # A click waits until the next page has begun, not for the whole of it.
    page.wait_for_load_state()
    # Through the debugger, for the page's policy takes no script of ours.
    page.evaluate(AXE_SCRIPT)
    # Until the font of the icons is there, axe takes their names for text.
    page.evaluate("document.fonts.ready.then(() => null)")
    first, *others = schemes or ("light", "dark")
    found = violations_in(page, first)
    for scheme in others:
        found += violations_in(page, scheme, CONTRAST)
    if others:
        show(page, first)
    return found


def violations_in(page: Page, scheme: str, options: dict[str, Any] | None = None) -> list[str]:
    show(page, scheme)
    passes, violations = page.evaluate(RUN, options or {})
    assert "color-contrast" in passes
    return [f"{scheme}: {one}" for one in violations]


def show(page: Page, scheme: str) -> None:
    """Shows the page in a colour scheme, as if it had been opened in it."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    # The back office's pages look at the scheme when they are opened.
    page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", scheme == "dark")
    # Colours on their way from one to another would be measured as they are just then.
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => null)))")
