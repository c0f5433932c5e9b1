"""The whole loop in a browser and over the API, in both languages: ask, answer, read the answer, approve."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from backoffice.case.requirements import TEMPLATES
from staff.models import Staff
from tests import factories
from tests.browser.cases import Register, open_decision
from tests.browser.screenshots import move_back
from tests.browser.test_accessibility import accessibility_violations
from tests.support.client import PartnerClient
from tests.users.deciding import case_of
from users.models import RequirementCode, Status, User

ASK, ADDRESS, MEANS, SEE, EXACTLY, SEND, WAITS, BLOCKED, ANSWERED, BY_UPDATE, APPROVE, VERIFIED, STAY = range(13)
WORDS = {
    "en": (
        *("Ask the partner", "Address unclear", "", "See what the partner will read", "exactly this"),
        *("Send, stay here", "Waiting for the partner", "1 requirement is open", "Answered", "Answered by an update"),
        *("Approve", "Identity and address verified", "Approve, stay here"),
    ),
    "fr": (
        *("Demander au partenaire", "Adresse à préciser", "Veuillez confirmer l’adresse du domicile"),
        *("Voir ce que le partenaire lira", "exactement ceci", "Envoyer, rester ici", "En attente du partenaire"),
        *("1 demande est ouverte", "Réponses reçues", "Répondu par une mise à jour"),
        *("Approuver", "Identité et adresse vérifiées", "Approuver, rester ici"),
    ),
}
TEMPLATE = TEMPLATES[RequirementCode.ADDRESS_UNCLEAR]


def ask_for_an_address(page: Page, words: tuple[str, ...]) -> None:
    """Both steps of the dialog on a case."""
    # The first step: the template is filled in, and may be edited.
    dialog = open_decision(page, words[ASK])
    dialog.get_by_label(words[ADDRESS]).check()
    expect(dialog.get_by_role("textbox")).to_have_value(TEMPLATE.message)
    expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(len(TEMPLATE.fields))
    expect(dialog).to_contain_text(words[MEANS])
    dialog.get_by_role("textbox").fill("We suspect the address.")
    dialog.get_by_role("button", name=words[SEE]).click()
    expect(page.get_by_role("dialog").locator(".case-error")).to_contain_text("suspect")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(TEMPLATE.message)
    assert not accessibility_violations(page)
    dialog.get_by_role("button", name=words[SEE]).click()

    # The second step shows what the partner then reads.
    dialog = page.get_by_role("dialog", name=words[EXACTLY])
    expect(dialog).to_contain_text(TEMPLATE.message)
    expect(dialog).to_contain_text("addressLine1, city, postalCode, province, country")
    assert not accessibility_violations(page)
    dialog.get_by_role("button", name=words[SEND]).click()
    expect(page.locator("#requirements")).to_contain_text(TEMPLATE.message)
    expect(page.get_by_role("button", name=words[APPROVE], exact=True)).to_be_disabled()
    expect(page.get_by_text(words[BLOCKED])).to_be_visible()


@pytest.mark.usefixtures("empty_queue")
@pytest.mark.parametrize("language", ["en", "fr"])
def test_ask_answer_approve(
    new_page: Callable[..., Page],
    login: Callable[..., Staff],
    register: Register,
    client: PartnerClient,
    language: str,
) -> None:
    words = WORDS[language]
    waiting, user = register(firstName="Ada"), register(firstName="Grace")
    page = new_page()
    login(page, "reviewer")
    page.context.add_cookies([{"name": "django_language", "value": language, "domain": "localhost", "path": "/"}])

    page.goto(case_of(user))
    ask_for_an_address(page, words)
    assert not accessibility_violations(page)
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
    page.goto("/admin/users/user/queue/")
    names = page.locator("#result_list tbody a[href*='/cases/']").all_inner_texts()
    assert names == [waiting.full_name, user.full_name]
    expect(page.locator("#result_list tbody tr").last).to_contain_text(words[ANSWERED])
    assert not accessibility_violations(page)
    page.goto(case_of(user))
    expect(page.locator("#requirements")).to_contain_text(words[BY_UPDATE])
    expect(page.locator("#requirements ins")).to_have_text(["1 Elgin St"])
    dialog = open_decision(page, words[APPROVE])
    dialog.get_by_label(words[VERIFIED]).check()
    dialog.get_by_role("button", name=words[STAY]).click()
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
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    login(page, "reviewer")
    for path, said in (
        ("/admin/", "Waiting for the partner"),
        ("/admin/users/user/asked/?due=overdue", "Overdue"),
        (case_of(user), "Overdue"),
    ):
        page.goto(path)
        expect(page.locator(".bo-badge, dt", has_text=said).last).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not accessibility_violations(page)
    dialog = open_decision(page, "Ask the partner")
    dialog.get_by_label("Source of funds").check()
    dialog.get_by_role("button", name="See what the partner will read").click()
    page.get_by_role("dialog", name="exactly this").wait_for()
