"""The whole loop in a browser and over the API: ask, answer, read the answer, approve."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from backoffice.case.requirements import TEMPLATES
from staff.models import Staff
from tests import factories
from tests.browser.axe import accessibility_violations
from tests.browser.cases import PHONE, Register, fits, open_decision
from tests.browser.screenshots import move_back
from tests.support.client import PartnerClient
from tests.users.deciding import case_of
from users.models import RequirementCode, Status, User

TEMPLATE = TEMPLATES[RequirementCode.ADDRESS_UNCLEAR]
PREVIEW = "Voir ce que le partenaire lira"


def ask_for_an_address(page: Page) -> None:
    """Both steps of the dialog on a case, in French."""
    # The first step: the template is filled in, and may be edited.
    dialog = open_decision(page, "Demander au partenaire")
    dialog.get_by_label("Adresse à préciser").check()
    expect(dialog.get_by_role("textbox")).to_have_value(TEMPLATE.message)
    expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(len(TEMPLATE.fields))
    expect(dialog).to_contain_text("Veuillez confirmer l’adresse du domicile")
    dialog.get_by_role("textbox").fill("We suspect the address.")
    dialog.get_by_role("button", name=PREVIEW).click()
    expect(page.get_by_role("dialog").locator(".case-error")).to_contain_text("suspect")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(TEMPLATE.message)
    assert not accessibility_violations(page, "light")
    dialog.get_by_role("button", name=PREVIEW).click()

    # The second step shows what the partner then reads.
    dialog = page.get_by_role("dialog", name="exactement ceci")
    expect(dialog).to_contain_text(TEMPLATE.message)
    expect(dialog).to_contain_text("addressLine1, city, postalCode, province, country")
    assert not accessibility_violations(page, "light")
    dialog.get_by_role("button", name="Envoyer, rester ici").click()
    expect(page.locator("#requirements")).to_contain_text(TEMPLATE.message)
    expect(page.get_by_role("button", name="Approuver", exact=True)).to_be_disabled()
    expect(page.get_by_text("1 demande est ouverte")).to_be_visible()


@pytest.mark.usefixtures("empty_queue")
def test_a_reviewer_asks_in_french_the_partner_answers_and_the_answer_is_read_in_english(
    page: Page, login: Callable[..., Staff], register: Register, client: PartnerClient
) -> None:
    waiting, user = register(firstName="Ada"), register(firstName="Grace")
    page.context.set_extra_http_headers({"Accept-Language": "fr"})
    login(page, "reviewer", path=case_of(user))
    ask_for_an_address(page)
    assert not accessibility_violations(page, "light")
    page.goto("/admin/users/user/asked/")
    expect(page.get_by_role("link", name=user.full_name)).to_be_visible()

    # The partner reads it and answers.
    path = f"/v1/users/{user.external_id}"
    [asked] = client.get(path).json()["requirements"]
    assert asked["message"] == TEMPLATE.message
    # The values as they were, but for one.
    body = factories.user_body()
    answer = {name: body[name] for name in asked["fields"]} | {"addressLine1": "1 Elgin St"}
    assert client.patch(path, answer).status == 200

    # Back in the queue, below the one who has waited longer.
    page.context.set_extra_http_headers({"Accept-Language": "en"})
    page.goto("/admin/users/user/queue/")
    names = page.locator("#result_list tbody a[href*='/cases/']").all_inner_texts()
    assert names == [waiting.full_name, user.full_name]
    expect(page.locator("#result_list tbody tr").last).to_contain_text("Answered")
    assert not accessibility_violations(page, "light")
    page.goto(case_of(user))
    expect(page.locator("#requirements")).to_contain_text("Answered by an update")
    expect(page.locator("#requirements ins")).to_have_text(["1 Elgin St"])
    dialog = open_decision(page, "Approve")
    dialog.get_by_label("Identity and address verified").check()
    dialog.get_by_role("button", name="Approve, stay here").click()
    expect(page.locator("#requirements")).to_have_count(0)
    user.refresh_from_db()
    assert (user.status, client.get(path).json()["requirements"]) == (Status.ACTIVE, [])


def test_an_overdue_and_an_answered_one_on_a_phone(
    new_page: Callable[..., Page], login: Callable[..., Staff], register: Register
) -> None:
    user: User = register(firstName="Grace")
    overdue = factories.RequirementFactory.create(user=user)
    noted = factories.RequirementFactory.create(user=user, code="purposeOfUse", fields=(), message="")
    factories.answer(noted, "To pay rent abroad.\nOnce a month.")
    due = timezone.now() - timedelta(days=2)
    move_back("users_requirement", "due_at", overdue.pk, due)
    move_back("users_user", "requirements_due_at", user.pk, due)
    page = new_page(viewport=PHONE, color_scheme="dark")
    login(page, "reviewer", path="about:blank")
    for path, said in (
        ("/admin/", "Waiting for the partner"),
        ("/admin/users/user/asked/?due=overdue", "Overdue"),
        (case_of(user), "Overdue"),
    ):
        page.goto(path)
        expect(page.locator(".bo-badge, dt", has_text=said).last).to_be_visible()
        assert page.evaluate("document.documentElement.classList.contains('dark')"), path
        assert fits(page), path
        assert not accessibility_violations(page, "dark"), path
    dialog = open_decision(page, "Ask the partner")
    dialog.get_by_label("Source of funds").check()
    dialog.get_by_role("button", name="See what the partner will read").click()
    page.get_by_role("dialog", name="exactly this").wait_for()
