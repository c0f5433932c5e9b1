"""A fixture that runs a file's tests twice: through the WSGI application and through DRF's test client."""

import pytest

from tests.support.client import Transport, by_api_client, in_process


@pytest.fixture(params=[in_process, by_api_client], ids=["server", "APIClient"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """The transport of the test's clients."""
    chosen: Transport = request.param
    return chosen
