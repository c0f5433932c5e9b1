"""The pages of errors 403, 404, 500 and 503."""

import psycopg
import pytest
from django.db import connection
from django.test import Client

from backoffice import landing
from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.staff import client_as


@pytest.mark.django_db
def test_a_page_without_permission_says_so() -> None:
    response = client_as("viewer").get("/admin/exports/")
    assert (response.status_code, "No access" in response.content.decode()) == (403, True)


@pytest.mark.django_db
def test_an_internal_error_reveals_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the code")

    monkeypatch.setattr(landing, "render", fail)
    client = client_as("auditor")
    client.raise_request_exception = False
    response = client.get("/admin/")
    assert (response.status_code, "<h1>Internal error</h1>" in response.content.decode()) == (500, True)
    assert "secret" not in response.content.decode()
    assert response.headers["X-Request-Id"]


def test_a_locked_user_is_not_an_internal_error(committed_partner: Partner) -> None:
    client, user = client_as("reviewer"), factories.UserFactory.create(partner=committed_partner)
    client.raise_request_exception = False
    with psycopg.connect(database_url(serving_role.OWNER)) as session:
        session.execute("SELECT 1 FROM users_user WHERE id = %s FOR UPDATE", [user.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10ms'")
        response = client.get(f"/admin/cases/{user.pk}/")
    connection.close()
    assert (response.status_code, "somebody else is changing this record" in response.content.decode()) == (503, True)
    assert response.headers["Retry-After"] == "2"


@pytest.mark.django_db
def test_an_unknown_page_links_to_the_back_office() -> None:
    response = Client().get("/nothing")
    assert (response.status_code, 'href="/admin/"' in response.content.decode()) == (404, True)
