"""Django's development server gives the same responses as the production server."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from http.client import IncompleteRead
from pathlib import Path

import pytest
from django.conf import settings

from partners.models import Mode, Partner
from tests import factories
from tests.slow.live.conftest import Server, answering, free_port, production
from tests.support.client import PartnerClient, over_http
from tests.support.timeouts import WAIT_SECONDS


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runserver") / "log"


@pytest.fixture(scope="module")
def server(django_db_setup: None, log: Path) -> Iterator[Server]:
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "runserver", "--noreload", str(port)],
            env=os.environ | production(DEBUG="true", ALLOWED_HOSTS="127.0.0.1"),
            cwd=Path(settings.BASE_DIR),
            stdout=output,
            stderr=output,
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


@pytest.mark.usefixtures("committed_partner")
def test_a_lost_answer_breaks_the_connection_without_an_error_in_the_log(server: Server, log: Path) -> None:
    sandbox = factories.PartnerFactory.create(slug=f"lost-{uuid.uuid4()}", mode=Mode.SANDBOX)
    client = factories.client_of(sandbox, over_http("127.0.0.1", server.port))
    written, key, body = len(log.read_text()), str(uuid.uuid4()), factories.user_body()
    with pytest.raises(IncompleteRead):
        client.post("/v1/users", body, key=key, headers={"X-Sandbox-Fault": "lostAnswer"})
    assert client.post("/v1/users", body, key=key).header("Idempotent-Replayed") == "true"
    lines = log.read_text()[written:]
    assert "status=502" in lines
    assert not re.search("error|Traceback", lines)
