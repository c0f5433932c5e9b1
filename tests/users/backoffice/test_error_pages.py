"""The pages of errors 403, 404 and 500."""

import pytest
from django.test import Client

from tests.support.staff import client_as
from users.backoffice import dashboard


@pytest.mark.django_db
def test_a_page_without_permission_says_so() -> None:
    answer = client_as("viewer").get("/admin/exports/")
    assert (answer.status_code, "No access" in answer.content.decode()) == (403, True)


@pytest.mark.django_db
def test_an_internal_error_reveals_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the code")

    monkeypatch.setattr(dashboard, "render", fail)
    client = client_as("auditor")
    client.raise_request_exception = False
    answer = client.get("/admin/dashboard/")
    assert (answer.status_code, "<h1>Internal error</h1>" in answer.content.decode()) == (500, True)
    assert "secret" not in answer.content.decode()
    assert answer.headers["X-Request-Id"]


@pytest.mark.django_db
def test_an_unknown_page_links_to_the_back_office() -> None:
    answer = Client().get("/nothing")
    assert (answer.status_code, 'href="/admin/"' in answer.content.decode()) == (404, True)
