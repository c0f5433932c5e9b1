"""How many files of our own a page asks for: an office has one address, which the proxy limits."""

import re

import pytest
from django.test import Client

from tests.factories import UserFactory
from tests.support.staff import client_as

pytestmark = pytest.mark.django_db


def own_files(client: Client, path: str) -> list[str]:
    """The scripts and style sheets of our own that a page asks for."""
    page = client.get(path).content.decode()
    names = re.findall(r'(?:src|href)="/static/((?:backoffice|staff_login|docs)/[^"]+\.(?:js|css))"', page)
    return [name for name in names if not name.endswith("noscript.css")]


def test_a_list_asks_for_one_script_and_one_style_sheet() -> None:
    files = own_files(client_as("superuser"), "/admin/users/queueduser/")
    assert files == ["backoffice/look.css", "backoffice/backoffice.js"]


def test_a_case_asks_for_one_more_of_each() -> None:
    user = UserFactory.create()
    files = own_files(client_as("superuser"), f"/admin/cases/{user.pk}/")
    assert sorted(files) == sorted(
        ["backoffice/look.css", "backoffice/backoffice.js", "backoffice/case.css", "backoffice/case.js"]
    )


def test_the_staff_login_asks_for_what_the_back_office_has_and_two_of_its_own() -> None:
    files = own_files(Client(), "/admin/account/login/")
    assert files[:4] == [
        "backoffice/look.css",
        "staff_login/staff_login.css",
        "staff_login/theme.js",
        "backoffice/backoffice.js",
    ]
