"""What tests of this app share."""

import pytest

from tests import factories
from tests.support.client import PartnerClient
from tests.support.documents import folder  # noqa: F401 - a fixture
from tests.support.named_actors import lines_name_who_acts  # noqa: F401 - a fixture
from tests.users.sending import Send


@pytest.fixture
def send(api: PartnerClient) -> Send:
    """Sends fields in a create; that an update has the same rules is tested in api/test_update.py."""
    return lambda **fields: api.post("/v1/users", factories.user_body(externalId="ada", **fields))
