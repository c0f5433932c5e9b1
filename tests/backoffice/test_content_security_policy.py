"""Security headers: Content-Security-Policy, framing, cookies."""

import re

import pytest
from django.test import Client

from tests.staff.login.test_login import log_in, person
from tests.support.staff import client_as

pytestmark = pytest.mark.django_db


def policy(path: str, client: Client | None = None) -> dict[str, str]:
    response = (client or Client()).get(path)
    response.close()  # a file
    return dict(line.split(" ", 1) for line in response.headers["Content-Security-Policy"].split("; "))


def test_the_login_pages_run_their_own_files_and_nothing_else() -> None:
    found = policy("/admin/account/login/")
    assert found["default-src"] == "'none'"
    assert found["script-src"] == found["style-src"] == found["form-action"] == "'self'"
    assert found["frame-ancestors"] == found["base-uri"] == "'none'"


def test_the_back_office_may_evaluate_but_runs_no_script_of_the_page() -> None:
    found = policy("/admin/partners/partner/", client_as("partner-manager"))
    assert found["script-src"] == "'self' 'unsafe-eval'"
    assert found["style-src"] == "'self'"
    assert found["style-src-attr"] == "'unsafe-inline'"


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/backoffice/look.css"])
def test_everything_else_may_do_nothing(path: str) -> None:
    assert set(policy(path).values()) == {"'none'"}


@pytest.mark.parametrize("path", ["/admin/account/login/", "/admin/partners/partner/", "/nowhere"])
def test_no_page_is_shown_in_a_frame(path: str) -> None:
    assert Client().get(path).headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("path", ["account/login/", "account/factors/", "account/factors/app/", "", "staff/staff/"])
def test_no_page_holds_what_its_policy_forbids(path: str) -> None:
    client = Client() if path == "account/login/" else client_as("superuser")
    page = client.get(f"/admin/{path}").content.decode()
    assert "<style" not in page
    scripts = re.findall(r"<script\b([^>]*)>", page)
    assert all("src=" in attributes or 'type="application/json"' in attributes for attributes in scripts), scripts
    assert not re.search(r"<[^>]*\son[a-z]+=", page)


def test_cookies_stay_at_home() -> None:
    client = Client()
    client.get("/admin/account/login/")
    assert client.cookies["csrftoken"]["samesite"] == "Lax"
    client, _ = log_in(person())
    assert client.cookies["sessionid"]["samesite"] == "Lax"
    assert client.cookies["sessionid"]["httponly"]
