"""Tests of a file that imports `transport` run twice: as the server calls the service, and by DRF's test client."""

import pytest

from tests.support.client import Transport, by_api_client, in_process


@pytest.fixture(params=[in_process, by_api_client], ids=["server", "APIClient"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """How clients of the test send their requests."""
    chosen: Transport = request.param
    return chosen
