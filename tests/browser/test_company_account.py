"""Staff sign in with the company's account in a browser, at a real provider of another site."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from staff.accounts import create_staff
from tests import factories
from tests.browser.cases import Register
from tests.browser.test_backoffice import grow_stale
from tests.slow.live.conftest import free_port, serving
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, started
from tests.users.deciding import case_of
from users.decisions import compliance, proposals
from users.models import StatusChange


@pytest.fixture
def company(tmp_path: Path, django_db_setup: None) -> Iterator[tuple[OidcProvider, str]]:
    """The provider, and the address of a service that uses it."""
    port = free_port()
    service = f"http://localhost:{port}"
    with (
        started(tmp_path, f"{service}/admin/account/company/callback/") as provider,
        serving(
            DJANGO_SETTINGS_MODULE="tests.browser.server_settings",
            PORT=str(port),
            DEBUG="true",
            OWNER_DATABASE_URL="",
            SECRET_KEY=settings.SECRET_KEY,
            ALLOWED_HOSTS="localhost,127.0.0.1",
            CSRF_TRUSTED_ORIGINS="",
            STAFF_OIDC_ISSUER=provider.issuer,
            STAFF_OIDC_CLIENT_ID=CLIENT_ID,
            STAFF_OIDC_CLIENT_SECRET=CLIENT_SECRET,
            STAFF_OIDC_NAME="Company",
            STAFF_PASSWORD_LOGIN="false",
        ),
    ):
        yield provider, service


def test_from_the_login_page_to_a_case_and_to_the_approval_of_a_proposal(
    page: Page, company: tuple[OidcProvider, str], register: Register
) -> None:
    provider, service = company
    user = register(firstName="Grace")
    name = f"ada-{user.pk.hex[:8]}"
    staff = create_staff(username=name, email=f"{name}@example.com", role="reviewer")
    person = {"sub": name, "email": staff.email, "email_verified": True, "amr": ["mfa"]}
    provider.say(person=person, page=True)
    with no_rules_left():
        set_rule("always")
        by = factories.StaffFactory.create(role="reviewer")
        proposals.propose(compliance.Decision(user=user, to_status="active", by=by, reason="Seen."))

        page.goto(f"{service}{case_of(user)}")
        expect(page.get_by_label("Username")).not_to_be_visible()
        page.get_by_role("link", name="Sign in with Company").click()
        page.get_by_role("link", name=f"Continue as {name}").click()
        expect(page.locator("#proposal")).to_be_visible()
        assert page.url == f"{service}{case_of(user)}"

        grow_stale(page)
        page.get_by_role("button", name="Approve the proposal").click()
        page.locator("#approve-proposal").get_by_role("button", name="Approve", exact=True).click()
        page.get_by_role("link", name="Sign in again with Company").click()
        page.get_by_role("link", name=f"Continue as {name}").click()
        expect(page.locator("#proposal")).to_have_count(0)
        assert StatusChange.objects.get(user=user).by == staff
