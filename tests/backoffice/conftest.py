"""Fixtures for tests of the back office."""

from tests.support.documents import faults, folder
from tests.transactions.conftest import line

__all__ = ("faults", "folder", "line")
