"""Django's development server gives the same responses as the production server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from partners.models import Partner
from tests import factories
from tests.slow.live.conftest import Server, answering, free_port, production
from tests.support.client import PartnerClient, over_http
from tests.support.timeouts import WAIT_SECONDS


@pytest.fixture
def server(django_db_setup: None) -> Iterator[Server]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "runserver", "--noreload", str(port)],
        env=os.environ | production(DEBUG="true", ALLOWED_HOSTS="127.0.0.1"),
        cwd=Path(settings.BASE_DIR),
    )
    try:
        yield answering(Server(port, process))
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)


@pytest.fixture
def api(server: Server, partner: Partner) -> PartnerClient:
    return factories.client_of(partner, over_http("127.0.0.1", server.port))


def test_reads_and_writes(api: PartnerClient, partner: Partner) -> None:
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    assert api.get("/v1/ping").json()["partner"] == partner.slug
    assert api.post("/v1/users", body).status == 201
    assert api.patch(path, {"city": "Ottawa"}).status == 200
    assert api.get(path).json()["externalId"] == body["externalId"]
    assert api.get(f"{path}/transactions").json()["items"] == []
    assert partner.users.get().city == "Ottawa"
