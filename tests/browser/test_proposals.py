"""Two people let a user through, each in a browser of their own, in both languages."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from staff.models import Staff
from tests.browser.cases import Register, open_decision
from tests.support.approval_rules import no_rules_left, set_rule
from tests.users.deciding import case_of
from users.models import StatusChange

PROPOSE, VERIFIED, STAY, LIST, APPROVE, WHY_NOT = range(6)
WORDS = {
    "en": (
        *("Propose approval", "Identity and address verified", "Propose approval, stay here"),
        *("For a second person", "Approve the proposal", "another account approves it"),
    ),
    "fr": (
        *("Proposer l’approbation", "Identité et adresse vérifiées", "Proposer l’approbation, rester ici"),
        *("Pour une deuxième personne", "Approuver la proposition", "un autre compte l’approuve"),
    ),
}


@pytest.fixture(autouse=True)
def always(committing: None) -> Iterator[None]:
    with no_rules_left():
        set_rule("always")
        yield


@pytest.mark.parametrize("language", ["en", "fr"])
def test_two_people_in_two_browsers(
    new_page: Callable[..., Page],
    login: Callable[..., Staff],
    register: Register,
    language: str,
) -> None:
    words = WORDS[language]
    user = register(firstName="Grace")
    one, other = new_page(), new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    first, second = login(one, "reviewer"), login(other, "reviewer")
    for page in (one, other):
        page.context.add_cookies([{"name": "django_language", "value": language, "domain": "localhost", "path": "/"}])

    one.goto(case_of(user))
    dialog = open_decision(one, words[PROPOSE])
    dialog.get_by_label(words[VERIFIED]).check()
    dialog.get_by_role("button", name=words[STAY]).click()
    panel = one.locator("#proposal")
    expect(panel).to_contain_text(words[WHY_NOT])
    expect(panel.get_by_role("button", name=words[APPROVE])).to_have_count(0)
    one.goto("/admin/users/proposal/")
    expect(one.get_by_role("heading", name=words[LIST])).to_be_visible()

    other.goto("/admin/users/proposal/")
    other.get_by_role("link", name=user.full_name).click()
    other.locator("#proposal").scroll_into_view_if_needed()
    other.get_by_role("button", name=words[APPROVE]).click()
    dialog = other.locator("#approve-proposal")
    expect(dialog).to_contain_text(first.username)
    dialog.get_by_role("textbox").fill("Seen too.")
    dialog.locator("button.case-good").click()
    expect(other.locator("#proposal")).to_have_count(0)
    change = StatusChange.objects.get(user=user)
    assert (change.to_status, change.by, change.proposal and change.proposal.by) == ("active", second, first)
