"""Tests of the settings run them in this process."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def logs_stay_as_they_are() -> Iterator[None]:
    """Settings that are run once more would send this process's log lines elsewhere, for all tests that follow."""
    with patch("config.logs.configure"):
        yield
