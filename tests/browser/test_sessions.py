"""Links from elsewhere, and sessions that end while a person types."""

from collections.abc import Callable

from django.conf import settings
from playwright.sync_api import Page, expect

from staff.access import end_all_sessions
from staff.models import Staff
from tests.browser.cases import Register, open_decision
from tests.browser.conftest import PASSWORD, give_password
from tests.support.staff import totp_code
from tests.users.deciding import case_of

Login = Callable[..., Staff]
NOTE = "The second document shows another address."


def kept(page: Page) -> list[str]:
    """The names of what the tab keeps of what was typed."""
    names: list[str] = page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('draft'))")
    return names


def sign_in(page: Page, staff: Staff) -> None:
    """Fills in the pages of the login."""
    give_password(page, staff.username, PASSWORD)
    page.get_by_label("Code").fill(totp_code())
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_link_in_a_mail_or_chat_opens_the_case_for_one_who_is_signed_in(
    page: Page, enrolled: Callable[[str], Staff], register: Register, server_url: str
) -> None:
    user = register(firstName="Grace")
    page.goto("/admin/users/user/queue/")
    sign_in(page, enrolled("reviewer"))
    # Where they wanted to go.
    page.wait_for_url(f"{server_url}/admin/users/user/queue/")
    before = [one for one in page.context.cookies() if one.get("name") == settings.CSRF_COOKIE_NAME]
    page.goto("about:blank")
    page.set_content(f'<a href="{server_url}{case_of(user)}">The case</a>')
    page.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Grace Byron", level=2)).to_be_visible()
    # The forms of other tabs stay valid.
    now = [one for one in page.context.cookies() if one.get("name") == settings.CSRF_COOKIE_NAME]
    assert [one.get("value") for one in now] == [one.get("value") for one in before]


def test_a_note_survives_a_session_that_ends_until_the_server_took_it(
    page: Page, login: Login, register: Register
) -> None:
    user = register()
    staff = login(page, "reviewer", path=case_of(user))
    dialog = open_decision(page, "Reject")
    dialog.get_by_label("Other").check()
    dialog.get_by_role("textbox").fill(NOTE)
    end_all_sessions(staff)
    dialog.get_by_role("button", name="Reject, stay here").click()
    sign_in(page, staff)
    page.wait_for_url(f"**{case_of(user)}")
    dialog = open_decision(page, "Reject")
    expect(dialog.get_by_role("textbox")).to_have_value(NOTE)
    dialog.get_by_label("Other").check()
    dialog.get_by_role("button", name="Reject, stay here").click()
    expect(page.get_by_role("button", name="Reopen")).to_be_visible()
    assert kept(page) == []


def test_a_message_to_the_partner_survives_its_preview(page: Page, login: Login, register: Register) -> None:
    user = register()
    staff = login(page, "reviewer", path=case_of(user))
    dialog = open_decision(page, "Ask the partner")
    dialog.get_by_label("Message, in English").fill("Please send the passport again.")
    dialog.get_by_role("radio").first.check()
    dialog.get_by_role("button", name="See what the partner will read").click()
    end_all_sessions(staff)
    page.get_by_role("dialog").get_by_role("button", name="Send, stay here").click()
    sign_in(page, staff)
    page.wait_for_url(f"**{case_of(user)}")
    dialog = open_decision(page, "Ask the partner")
    expect(dialog.get_by_label("Message, in English")).to_have_value("Please send the passport again.")


def test_what_was_typed_is_gone_with_the_sign_out_and_shown_to_nobody_else(
    page: Page, login: Login, register: Register
) -> None:
    user = register()
    staff = login(page, "reviewer", path=case_of(user))
    page.get_by_text("Add a note").click()
    page.get_by_label("Note without a decision").fill(NOTE)
    assert len(kept(page)) == 1
    end_all_sessions(staff)
    login(page, "reviewer", path=case_of(user))
    page.get_by_text("Add a note").click()
    expect(page.get_by_label("Note without a decision")).to_have_value("")
    assert kept(page) == []

    page.get_by_label("Note without a decision").fill(NOTE)
    assert len(kept(page)) == 1
    page.evaluate("document.getElementById('logout-form').requestSubmit()")
    expect(page.get_by_label("Username")).to_be_visible()
    assert kept(page) == []
