"""For tests that hold whichever client of Django's sends a request, and for the server's own."""

import pytest

from tests.client import Transport, in_process, through_api_client


@pytest.fixture(params=[in_process, through_api_client], ids=["WSGI", "APIClient"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """In place of conftest's: each in turn."""
    chosen: Transport = request.param
    return chosen
