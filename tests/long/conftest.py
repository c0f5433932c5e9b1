"""The live servers of tests/slow/live, for tests that take long."""

from tests.slow.live.conftest import clients, partner, relay, servers, session  # noqa: F401 - fixtures
