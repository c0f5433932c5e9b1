"""A simulated lost response is one through the proxy too."""

import uuid
from http.client import IncompleteRead

import pytest

from partners.models import Mode, Partner
from tests import factories
from tests.support.client import PartnerClient


@pytest.fixture
def partner(committed_partner: Partner) -> Partner:
    return factories.PartnerFactory.create(slug=f"lost-{uuid.uuid4()}", mode=Mode.SANDBOX)


def test_no_client_gets_a_whole_response_through_the_proxy(through: PartnerClient) -> None:
    key = str(uuid.uuid4())
    with pytest.raises(IncompleteRead):
        through.post("/v1/users", factories.user_body(), key=key, headers={"X-Sandbox-Fault": "lostAnswer"})
    assert through.get(f"/v1/idempotency-keys/{key}").json()["status"] == 201
