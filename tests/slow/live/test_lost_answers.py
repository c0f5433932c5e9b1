"""X-Sandbox-Fault: lostAnswer over a socket: contract, section 11."""

import uuid
from http.client import IncompleteRead
from pathlib import Path

import pytest

from partners.models import Mode, Partner
from tests import factories
from tests.support.watched import watched


@pytest.fixture
def partner(committed_partner: Partner) -> Partner:
    return factories.PartnerFactory.create(slug=f"lost-{uuid.uuid4()}", mode=Mode.SANDBOX)


def test_the_connection_breaks_after_the_effect_and_no_line_is_an_error(partner: Partner, tmp_path: Path) -> None:
    key, body = str(uuid.uuid4()), factories.user_body()
    with watched(tmp_path / "log") as service:
        client = factories.client_of(partner, service.transport)
        with pytest.raises(IncompleteRead):
            client.post("/v1/users", body, key=key, headers={"X-Sandbox-Fault": "lostAnswer"})
        assert client.get(f"/v1/idempotency-keys/{key}").json()["status"] == 201
        assert client.post("/v1/users", body, key=key).header("Idempotent-Replayed") == "true"
    assert {line["level"] for line in service.lines()} == {"info"}
