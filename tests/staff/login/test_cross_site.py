"""Requests that another site's page caused: a link opens its page, and nothing else is done."""

import re

import pytest
from django.conf import settings
from django.test import Client

from tests import factories
from tests.staff.login.test_login import LOGIN, PASSWORD

pytestmark = pytest.mark.django_db

PAGE = "/admin/users/user/queue/"


@pytest.fixture
def browser() -> Client:
    """A browser of somebody who signed in; it checks CSRF tokens."""
    staff = factories.StaffFactory.create(role="reviewer")
    staff.set_password(PASSWORD)
    staff.save()
    client = Client(enforce_csrf_checks=True)
    client.post(LOGIN, {"login": staff.username, "password": PASSWORD, "csrfmiddlewaretoken": token(client, LOGIN)})
    return client


def token(client: Client, path: str) -> str:
    """The token in a page's forms."""
    match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(path).content.decode())
    assert match
    return match[1]


def test_a_link_from_elsewhere_leaves_the_forms_of_other_tabs_valid(browser: Client) -> None:
    before = token(browser, PAGE)
    strict = browser.cookies.pop(settings.CSRF_COOKIE_NAME)
    assert token(browser, PAGE)
    assert browser.cookies[settings.CSRF_COOKIE_NAME].value == strict.value
    assert browser.post("/admin/language/", {"language": "fr", "csrfmiddlewaretoken": before}).status_code == 302


def test_a_post_from_elsewhere_does_nothing_even_with_the_session_and_a_valid_token(browser: Client) -> None:
    before = token(browser, PAGE)
    del browser.cookies[settings.CSRF_COOKIE_NAME]
    assert browser.post("/admin/language/", {"language": "fr", "csrfmiddlewaretoken": before}).status_code == 403
