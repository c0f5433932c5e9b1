"""The cache of failed logins and used codes in the database."""

import pickle
from base64 import b64encode
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

pytestmark = pytest.mark.django_db
ran: list[bool] = []


class Attack:
    def __reduce__(self) -> Any:
        return ran.append, (True,)


def test_plain_values_are_kept_until_they_expire() -> None:
    value = {"a": [1.5, True, None, "é"]}
    cache.set("key", value)
    assert (cache.get("key"), cache.get("other")) == (value, None)
    assert (cache.add("key", 1), cache.get("key")) == (False, value)
    cache.set("key", 1, timeout=-1)
    assert cache.get("key") is None
    assert (cache.add("key", 2), cache.get("key")) == (True, 2)


def test_code_in_the_table_is_not_run() -> None:
    Client(raise_request_exception=False).post("/admin/account/login/", {"login": "ada", "password": "wrong"})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE staff_cache SET value = %s", [b64encode(pickle.dumps(Attack())).decode()])
        assert cursor.rowcount
    response = Client(raise_request_exception=False).post(
        "/admin/account/login/", {"login": "ada", "password": "wrong"}
    )
    assert (response.status_code, ran) == (500, [])
