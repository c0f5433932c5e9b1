"""Fixtures for tests of the back office."""

from tests.support.documents import faults, folder
from tests.support.named_actors import lines_name_who_acts
from tests.transactions.conftest import line

__all__ = ("faults", "folder", "line", "lines_name_who_acts")
