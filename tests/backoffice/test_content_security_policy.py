"""Security headers: Content-Security-Policy, framing, cookies."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.staff.login.test_login import log_in, person
from tests.support.staff import client_as

pytestmark = pytest.mark.django_db


def policy(response: Any) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in response.headers["Content-Security-Policy"].split("; "))


def test_the_login_pages_run_their_own_files_and_nothing_else() -> None:
    client = Client()
    response = client.get("/admin/account/login/")
    found = policy(response)
    assert found["default-src"] == "'none'"
    assert found["script-src"] == found["style-src"] == found["form-action"] == "'self'"
    assert found["frame-ancestors"] == found["base-uri"] == "'none'"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert client.cookies["csrftoken"]["samesite"] == "Lax"
    assert forbidden(response.content.decode()) == []


def test_the_back_office_may_evaluate_but_runs_no_script_of_the_page() -> None:
    client = client_as("superuser")
    pages = {path: client.get(f"/admin/{path}") for path in ("", "staff/staff/")}
    for path, response in pages.items():
        found = policy(response)
        assert (found["script-src"], found["style-src"]) == ("'self' 'unsafe-eval'", "'self'"), path
        assert found["style-src-attr"] == "'unsafe-inline'", path
        assert response.headers["X-Frame-Options"] == "DENY", path
    pages |= {path: client.get(f"/admin/{path}") for path in ("account/factors/", "account/factors/app/")}
    assert [(path, found) for path, page in pages.items() for found in forbidden(page.content.decode())] == []


def forbidden(page: str) -> list[str]:
    """What no policy allows: styles, scripts and handlers on the page itself."""
    scripts = [
        attributes
        for attributes in re.findall(r"<script\b([^>]*)>", page)
        if "src=" not in attributes and 'type="application/json"' not in attributes
    ]
    return [*scripts, *re.findall(r"<style|<[^>]*\son[a-z]+=", page)]


def test_everything_else_may_do_nothing() -> None:
    for path in ("/", "/nowhere", "/static/backoffice/look.css"):
        response = Client().get(path)
        assert set(policy(response).values()) == {"'none'"}, path
        if path == "/nowhere":
            assert response.headers["X-Frame-Options"] == "DENY"
    # A file.
    response.close()


def test_the_cookie_of_a_session_stays_at_home() -> None:
    client, _ = log_in(person())
    assert client.cookies["sessionid"]["samesite"] == "Lax"
    assert client.cookies["sessionid"]["httponly"]
