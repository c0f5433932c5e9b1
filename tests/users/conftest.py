"""What tests of this app share."""

from collections.abc import Callable

import pytest

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.documents import folder  # noqa: F401 - a fixture
from tests.support.named_actors import lines_name_who_acts  # noqa: F401 - a fixture
from tests.users.sending import Send


@pytest.fixture(params=["create", "update"])
def send(request: pytest.FixtureRequest, api: PartnerClient, create_user: Callable[..., Response]) -> Send:
    """Sends fields in a create, or in an update of a user who would pass every rule."""
    if request.param == "create":
        return lambda **fields: api.post("/v1/users", factories.user_body(externalId="ada", **fields))
    create_user(externalId="ada")
    return lambda **fields: api.patch("/v1/users/ada", fields)
