"""The pages of errors 403, 404, 500 and 503."""

import psycopg
import pytest
from django.db import connection
from django.test import Client

from partners.db import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
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


def test_a_locked_user_is_not_an_internal_error(committed_partner: Partner) -> None:
    client, user = client_as("reviewer"), factories.UserFactory.create(partner=committed_partner)
    client.raise_request_exception = False
    with psycopg.connect(database_url(serving_role.OWNER)) as session:
        session.execute("SELECT 1 FROM users_user WHERE id = %s FOR UPDATE", [user.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10ms'")
        answer = client.get(f"/admin/cases/{user.pk}/")
    connection.close()
    assert (answer.status_code, "somebody else is changing this record" in answer.content.decode()) == (503, True)
    assert answer.headers["Retry-After"] == "2"


@pytest.mark.django_db
def test_an_unknown_page_links_to_the_back_office() -> None:
    answer = Client().get("/nothing")
    assert (answer.status_code, 'href="/admin/"' in answer.content.decode()) == (404, True)
