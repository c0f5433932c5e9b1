"""Fixtures of the tests that start programs, servers or many connections (`make slow-test`)."""

from tests.events.webhooks.conftest import (
    add_endpoint,
    authority,
    delivering,
    endpoint,
    late_retries,
    loopback,
    no_other_endpoint,
    process,
    receiver,
)
from tests.transactions.conftest import faults, folder, line

__all__ = (
    "add_endpoint", "authority", "delivering", "endpoint", "faults", "folder", "late_retries", "line", "loopback",
    "no_other_endpoint", "process", "receiver",
)  # fmt: skip
