"""Database timeouts: short in production, long in tests."""

import os
import runpy
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import connection

from config.environment import deployment
from tests.support.timeouts import CONNECT_SECONDS, WAIT_SECONDS


def test_production_has_short_timeouts() -> None:
    with patch.dict(os.environ, deployment()):
        default = runpy.run_path(f"{settings.BASE_DIR}/config/settings.py")["DATABASES"]["default"]
    options = default["OPTIONS"]
    assert default["RESPONSE_SECONDS"] == 4.5
    assert options["connect_timeout"] == 2
    assert "-c statement_timeout=4s -c lock_timeout=3s" in options["options"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["statement_timeout", "lock_timeout"])
def test_tests_have_long_timeouts_but_shorter_than_their_conditions(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting::int / 1000 FROM pg_settings WHERE name = %s", [name])
        assert 30 < cursor.fetchone()[0] < WAIT_SECONDS
    assert connection.get_connection_params()["connect_timeout"] == CONNECT_SECONDS
