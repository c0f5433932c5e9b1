"""Cases and keys, from the press in the browser to what the partner is answered."""

import re
import zipfile
from collections.abc import Callable
from importlib import import_module

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from partners.models import ApiKey, Partner
from staff.login.factors import FRESH_SECONDS
from staff.models import Staff
from tests.browser.cases import Register, open_decision, transport_to
from tests.support.client import PartnerClient
from tests.support.staff import totp_code
from tests.users.deciding import case_of
from users.models import AccessKind, AccessRecord, Status, User

Login = Callable[..., Staff]


def status_for(client: PartnerClient, user: User) -> str:
    """What the partner is answered."""
    response = client.get(f"/v1/users/{user.external_id}")
    assert response.status == 200, response.body
    return str(response.json()["status"])


def grow_stale(page: Page) -> None:
    """Makes the factor of this page's session as old as one of this morning."""
    cookie = next(one for one in page.context.cookies() if one.get("name") == settings.SESSION_COOKIE_NAME)
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookie.get("value"))
    session["account_authentication_methods"] = [
        record | {"at": record["at"] - FRESH_SECONDS - 1} for record in session["account_authentication_methods"]
    ]
    session.save()


@pytest.mark.usefixtures("empty_queue")
def test_a_reviewer_approves_the_next_case_and_the_partner_reads_active(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    first, second = register(firstName="Grace"), register(firstName="Joan")
    login(page, "reviewer")
    page.get_by_role("button", name="Next case").click()
    page.wait_for_url(f"**{case_of(first)}")
    expect(page.get_by_role("heading", name="Grace Byron", level=2)).to_be_visible()
    expect(page.get_by_text("You have claimed this case")).to_be_visible()
    expect(page.get_by_text("100 King St W")).to_be_visible()
    assert status_for(client, first) == "pendingCompliance"

    dialog = open_decision(page, "Approve")
    dialog.get_by_role("button", name="Approve, next case").click()
    expect(dialog).to_be_visible()  # without a reason nothing is sent
    dialog.get_by_label("Identity and address verified").check()
    dialog.get_by_role("button", name="Approve, next case").click()
    page.wait_for_url(f"**{case_of(second)}")
    assert status_for(client, first) == "active"
    assert status_for(client, second) == "pendingCompliance"


def test_a_page_that_the_partner_overtook_decides_nothing_and_says_what_changed(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    user = register()
    login(page, "reviewer", path=case_of(user))
    assert client.patch(f"/v1/users/{user.external_id}", {"lastName": "Lovelace"}).status == 200
    dialog = open_decision(page, "Approve")
    dialog.get_by_label("Identity and address verified").check()
    dialog.get_by_role("button", name="Approve, stay here").click()

    refusal = page.get_by_role("alert").filter(has_text="Nothing was done")
    expect(refusal).to_be_focused()
    expect(refusal.get_by_role("listitem")).to_have_text("The partner changed Last name: Byron → Lovelace")
    assert status_for(client, user) == "pendingCompliance"

    # The dialog of the new page is on what it shows now.
    dialog = open_decision(page, "Approve")
    dialog.get_by_label("Identity and address verified").check()
    dialog.get_by_role("button", name="Approve, stay here").click()
    expect(page.get_by_role("button", name="Suspend")).to_be_visible()
    assert status_for(client, user) == "active"


@pytest.mark.usefixtures("empty_queue")
def test_a_case_is_taken_in_the_queue_and_decided_by_keys(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    user = register(firstName="Grace")
    login(page, "reviewer", path="/admin/users/user/queue/")
    expect(page.get_by_role("button", name="Next case")).to_be_visible()
    page.keyboard.press("n")
    page.wait_for_url(f"**{case_of(user)}")
    press(page, "a")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").press("Control+Enter")
    expect(dialog).to_be_visible()  # without a reason nothing is sent
    dialog.get_by_label("Identity and address verified").check()
    dialog.get_by_role("textbox").press("Control+Enter")
    expect(page.get_by_text("There is no free case")).to_be_visible()
    assert status_for(client, user) == "active"


def test_a_note_is_added_by_keys(page: Page, login: Login, register: Register) -> None:
    user = register()
    login(page, "reviewer", path=case_of(user))
    page.get_by_text("Add a note").click()
    page.get_by_label("Note without a decision").fill("Called the partner.")
    page.get_by_label("Note without a decision").press("Control+Enter")
    expect(page.get_by_text("The note is recorded.")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="Called the partner.")).to_be_visible()


def test_an_entry_of_the_file_is_recorded_and_its_number_shown_by_keys(
    page: Page, login: Login, register: Register
) -> None:
    user = register()
    login(page, "reviewer", path=f"/admin/cases/{user.pk}/file/identityVerification/")
    form = page.locator("form", has=page.get_by_role("button", name="Record"))
    form.get_by_label("Verified on").focus()
    page.keyboard.type("01152026")
    form.get_by_label("Document", exact=True).focus()
    page.keyboard.type("Pass")
    page.keyboard.press("Tab")
    page.keyboard.type("AB-7718290")
    page.keyboard.press("Enter")
    entry = page.locator(".bo-entry")
    expect(entry).to_contain_text("Passport")
    expect(page.get_by_text("AB-7718290")).to_have_count(0)
    # What was added is below the form, which is closed now.
    expect(form).not_to_be_visible()
    page.get_by_role("button", name="Show: Document number").focus()
    page.keyboard.press("Enter")
    expect(entry.get_by_text("AB-7718290")).to_be_visible()


def press(page: Page, key: str) -> None:
    """Presses a shortcut when the page knows it: its script runs, and the dialog before is closed."""
    expect(page.get_by_role("button", name="Shortcuts")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press(key)


def test_keys_claim_approve_and_lead_on_but_not_while_typing(
    page: Page, login: Login, register: Register, client: PartnerClient
) -> None:
    user = register(firstName="Grace")
    login(page, "reviewer", path=case_of(user))
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("c")  # with a dialog open
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Claim", exact=True)).to_be_visible()
    press(page, "c")
    expect(page.get_by_text("You have claimed this case")).to_be_visible()
    press(page, "a")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Other: explain in the note").check()
    dialog.get_by_role("textbox", name="Note").press_sequentially("a crnq?")
    expect(dialog.get_by_role("textbox", name="Note")).to_have_value("a crnq?")
    page.keyboard.press("Escape")
    press(page, "r")
    expect(page.get_by_role("dialog", name="Reject: Grace Byron")).to_be_visible()
    page.keyboard.press("Escape")
    press(page, "n")
    expect(page.get_by_text("You hold this case")).to_be_visible()
    press(page, "q")
    page.wait_for_url("**/admin/users/user/queue/")


def test_keys_can_be_switched_off(page: Page, login: Login, register: Register) -> None:
    user = register()
    login(page, "reviewer", path=case_of(user))
    press(page, "?")
    page.get_by_label("Use keyboard shortcuts").uncheck()
    page.get_by_role("button", name="Done").click()
    page.reload()
    press(page, "a")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_the_secret_of_a_key_that_a_partner_manager_issues_signs_requests(
    page: Page, login: Login, committed_partner: Partner, server_url: str
) -> None:
    login(page, "partner-manager", path=f"/admin/partners/partner/{committed_partner.pk}/change/")
    grow_stale(page)
    page.get_by_role("link", name="Issue an API key").first.click()
    page.get_by_label("Label").fill("production")
    page.get_by_role("button", name="Issue", exact=True).click()
    # The factor of the login is too old: nothing is issued before it is given again.
    page.get_by_label("Code").fill(totp_code(periods=1))
    assert not ApiKey.objects.filter(partner=committed_partner).exists()
    page.get_by_role("button", name="Confirm").click()

    secret = page.locator("#secret").inner_text()
    key = PartnerClient(page.locator("#api-key").inner_text(), secret, transport_to(server_url))
    response = key.get("/v1/ping")
    assert (response.status, response.json()["partner"]) == (200, committed_partner.slug)
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_text("production").first).to_be_visible()
    assert secret not in page.content()


@pytest.mark.usefixtures("empty_queue")
def test_two_browsers_that_press_next_case_at_once_get_different_cases(
    new_page: Callable[..., Page], login: Login, register: Register
) -> None:
    waiting = {case_of(register()) for _ in range(2)}
    pages = [new_page(), new_page()]
    for page in pages:
        login(page, "reviewer")
    for page in pages:
        # The press without waiting for its response, so that both are under way together.
        page.evaluate("""setTimeout(() => document.querySelector('form[action$="/cases/next/"] button').click(), 50)""")
    for page in pages:
        page.wait_for_url("**/admin/cases/**")
    assert {re.sub(r"^https?://[^/]+", "", page.url) for page in pages} == waiting
    assert User.objects.filter(status=Status.PENDING_COMPLIANCE).count() == 2


def test_regions_that_scroll_are_named_in_the_language_of_the_page(page: Page, login: Login) -> None:
    login(page, "viewer")
    expect(page.get_by_role("region", name="scrollable content").first).to_be_attached()
    page.context.set_extra_http_headers({"Accept-Language": "fr"})
    page.goto("/admin/users/user/queue/")
    expect(page.get_by_role("region", name="contenu défilant").first).to_be_attached()
    expect(page.get_by_role("region", name="scrollable content")).to_have_count(0)


def test_after_a_fresh_factor_a_page_says_that_the_download_has_begun(
    page: Page, login: Login, register: Register
) -> None:
    user = register()
    login(page, "auditor", path=f"/admin/cases/{user.pk}/evidence/")
    grow_stale(page)
    page.get_by_role("button", name="Export evidence pack").click()
    page.get_by_label("Code").fill(totp_code(periods=1))
    with page.expect_download() as begun:
        page.get_by_role("button", name="Confirm").click()
    assert zipfile.is_zipfile(begun.value.path())
    expect(page.get_by_role("heading", name="The download has begun")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="The download has begun")).to_be_visible()
    page.get_by_role("link", name="Back to where you were").click()
    page.wait_for_url(f"**{case_of(user)}")
    assert AccessRecord.objects.filter(user=user, kind=AccessKind.EXPORTED).count() == 1


def test_the_packs_of_users_chosen_in_a_list_are_one_download(page: Page, login: Login, register: Register) -> None:
    users = [register(lastName="Ottoline"), register(lastName="Ottoline")]
    login(page, "auditor", path="/admin/users/user/?q=Ottoline")
    for box in page.get_by_role("checkbox", name="Select record").all():
        box.check()
    page.get_by_role("combobox").select_option(label="Evidence packs …")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="Evidence packs of 2 users")).to_be_visible()
    with page.expect_download() as begun:
        page.get_by_role("button", name="Export evidence packs").click()
    with zipfile.ZipFile(begun.value.path()) as archive:
        assert {f"{user.pk}/index.html" for user in users} < {*archive.namelist()}
    # The page stays, and leads back.
    page.get_by_role("link", name="Back", exact=True).click()
    page.wait_for_url("**/admin/users/user/?q=Ottoline")
