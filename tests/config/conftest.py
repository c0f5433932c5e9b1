"""Fixtures of the settings' tests."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def logs_stay_as_they_are() -> Iterator[None]:
    """Running the settings again would reconfigure this process's logging."""
    with patch("config.logs.configure"):
        yield
