"""An invitation in a browser: from the administrator's page to the newcomer's first page."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from staff.models import Staff
from tests.browser.test_staff_login import NEW_PASSWORD


def invite(page: Page, email: str, role: str = "reviewer") -> str:
    """Fill in the form for a colleague; the link."""
    page.goto("/admin/staff/staff/add/")
    page.get_by_label("Email address").fill(email)
    page.locator(f"input[name=role][value={role}]").check()
    page.get_by_role("button", name="Invite", exact=True).click()
    return page.locator("#link").inner_text()


def test_the_link_leads_to_a_password_and_a_second_factor(
    page: Page, new_page: Callable[..., Page], login: Callable[..., Staff]
) -> None:
    login(page, "administrator")
    link = invite(page, f"nina-{Staff.objects.count()}@example.com")
    newcomer = new_page()
    requested: list[str] = []
    newcomer.on("request", lambda request: requested.append(request.url + str(request.headers)))
    newcomer.goto(link)
    expect(newcomer.get_by_role("heading", name="Choose your password")).to_be_visible()
    assert "#" not in newcomer.url
    token = link.partition("#")[2]
    assert not any(token in one for one in requested), "neither in an address nor in a Referer"
    newcomer.get_by_label("Password", exact=True).fill(NEW_PASSWORD)
    newcomer.get_by_label("Password (again)").fill(NEW_PASSWORD)
    newcomer.get_by_role("button", name="Continue").click()
    expect(newcomer.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    late: Any = new_page()
    late.goto(link)
    expect(late.get_by_role("alert")).to_contain_text("not valid")


def test_without_scripts_the_code_is_pasted(
    page: Page, new_page: Callable[..., Page], login: Callable[..., Staff]
) -> None:
    login(page, "administrator")
    link = invite(page, f"nora-{Staff.objects.count()}@example.com")
    address, _, token = link.partition("#")
    newcomer = new_page(java_script_enabled=False)
    newcomer.goto(address)
    newcomer.get_by_label("Code of the invitation").fill(token)
    newcomer.get_by_role("button", name="Continue").click()
    expect(newcomer.get_by_role("heading", name="Choose your password")).to_be_visible()
