"""Login of staff in a browser."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from staff import accounts
from staff.accounts import create_staff
from staff.models import Staff
from tests.browser.cases import PHONE, fits
from tests.browser.conftest import give_password
from tests.support.staff import totp_code

NEW_PASSWORD = "a password of my very own"


def new_person(role: str = "reviewer") -> tuple[Staff, str]:
    """Somebody who has never been here, with a password for one time."""
    number = Staff.objects.count()
    staff = create_staff(username=f"newcomer-{number}", email=f"newcomer-{number}@example.com", role=role)
    return staff, accounts.give_password(staff)


def arrive(page: Page, staff: Staff, password: str) -> None:
    """Logs in for the first time and chooses a password."""
    page.goto("/admin/")
    give_password(page, staff.username, password)
    expect(page.get_by_role("heading", name="Choose your password")).to_be_visible()
    page.goto("/admin/")  # there is no way around it
    expect(page.get_by_role("heading", name="Choose your password")).to_be_visible()
    page.get_by_label("Current Password").fill(password)
    page.get_by_label("New Password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("New Password (again)").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change Password").click()
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()


def leave(page: Page) -> None:
    page.goto("/admin/account/logout/")
    page.locator(".login-card").get_by_role("button", name="Sign Out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def save_codes(page: Page) -> list[str]:
    """Goes past the page of recovery codes; the codes, which can be copied and printed."""
    expect(page.get_by_role("heading", name="Recovery Codes")).to_be_visible()
    codes = page.locator("#recovery_codes li").all_inner_texts()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").split() == codes
    page.evaluate("window.print = () => { document.title = 'printed'; }")
    page.get_by_role("button", name="Print").click()
    expect(page).to_have_title("printed")
    page.get_by_role("link", name="I have saved them").click()
    page.wait_for_url(lambda url: "/account/" not in url)
    return codes


def press_for_passkey(page: Page, name: str) -> None:
    """Presses a button for a passkey when the script that makes it one has run."""
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).to_be_visible()
    # Once the page that has the button is loaded, its scripts have run.
    page.wait_for_load_state()
    button.click()


def add_virtual_key(page: Page) -> None:
    """Gives the browser a passkey device, which agrees to everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    device: dict[str, Any] = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": device})


def test_a_first_login_with_an_authenticator_app(page: Page) -> None:
    staff, password = new_person()
    arrive(page, staff, password)
    page.get_by_role("link", name="Set up an app").click()
    page.get_by_text("No camera?").click()
    secret = page.locator("#authenticator_secret").inner_text()
    page.get_by_label("Authenticator code").fill(totp_code(secret))
    page.get_by_role("button", name="Activate").click()
    codes = save_codes(page)
    assert len(codes) == 10

    leave(page)
    give_password(page, staff.username, NEW_PASSWORD)
    page.get_by_label("Code").fill(totp_code(secret, periods=1))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/account/" not in url)

    leave(page)
    give_password(page, staff.username, NEW_PASSWORD)
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/account/" not in url)


def test_a_first_login_with_a_passkey(page: Page) -> None:
    add_virtual_key(page)
    staff, password = new_person()
    arrive(page, staff, password)
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("My laptop")
    press_for_passkey(page, "Add")
    save_codes(page)

    leave(page)
    press_for_passkey(page, "Sign in with a passkey")
    page.wait_for_url(lambda url: "/account/" not in url)

    leave(page)
    give_password(page, staff.username, NEW_PASSWORD)
    press_for_passkey(page, "Use a passkey or security key")
    page.wait_for_url(lambda url: "/account/" not in url)
    assert page.get_by_text(staff.username).first.is_visible()


def test_a_passkey_that_is_refused_is_said_on_the_page(page: Page) -> None:
    add_virtual_key(page)
    page.goto("/admin/account/login/")
    press_for_passkey(page, "Sign in with a passkey")
    expect(page.get_by_role("alert")).to_contain_text("refused")


def test_the_pages_fit_a_phone_in_dark_and_light(new_page: Callable[..., Page], login: Callable[..., Staff]) -> None:
    page = new_page(viewport=PHONE, color_scheme="dark")
    login(page, "partner-manager", path="about:blank")
    for path in ("", "passkeys/", "passkeys/add/", "recovery-codes/", "recovery-codes/new/", "app/remove/"):
        page.emulate_media(color_scheme="dark")
        page.goto(f"/admin/account/factors/{path}")
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(FOLLOWS, arg=scheme)
            assert fits(page), (path, scheme)


# Whether the page is in this colour scheme.
FOLLOWS = "scheme => document.documentElement.classList.contains('dark') === (scheme === 'dark')"
