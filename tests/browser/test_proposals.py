"""Two people let a user through, each in a browser of their own and in their language."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from staff.models import Staff
from tests.browser.cases import PHONE, Register, open_decision
from tests.support.approval_rules import no_rules_left, set_rule
from tests.users.deciding import case_of
from users.models import StatusChange


@pytest.fixture(autouse=True)
def always(committing: None) -> Iterator[None]:
    with no_rules_left():
        set_rule("always")
        yield


def test_two_people_in_two_browsers_one_in_french(
    new_page: Callable[..., Page], login: Callable[..., Staff], register: Register
) -> None:
    user = register(firstName="Grace")
    one, other = new_page(locale="fr-CA"), new_page(viewport=PHONE, color_scheme="dark")

    first = login(one, "reviewer", path=case_of(user))
    dialog = open_decision(one, "Proposer l’approbation")
    dialog.get_by_label("Identité et adresse vérifiées").check()
    dialog.get_by_role("button", name="Proposer l’approbation, rester ici").click()
    panel = one.locator("#proposal")
    expect(panel).to_contain_text("un autre compte l’approuve")
    expect(panel.get_by_role("button", name="Approuver la proposition")).to_have_count(0)
    one.goto("/admin/users/proposal/")
    expect(one.get_by_role("heading", name="Pour une deuxième personne")).to_be_visible()

    second = login(other, "reviewer", path="/admin/users/proposal/")
    expect(other.get_by_role("heading", name="For a second person")).to_be_visible()
    other.get_by_role("link", name=user.full_name).click()
    other.locator("#proposal").scroll_into_view_if_needed()
    other.get_by_role("button", name="Approve the proposal").click()
    dialog = other.locator("#approve-proposal")
    expect(dialog).to_contain_text(first.username)
    dialog.get_by_role("textbox").fill("Seen too.")
    dialog.locator("button.case-good").click()
    expect(other.locator("#proposal")).to_have_count(0)
    change = StatusChange.objects.get(user=user)
    assert (change.to_status, change.by, change.proposal and change.proposal.by) == ("active", second, first)
