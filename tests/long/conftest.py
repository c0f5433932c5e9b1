"""The live servers of tests/live, for tests that take long."""

from tests.live.conftest import clients, partner, relay, servers, session  # noqa: F401 - fixtures
