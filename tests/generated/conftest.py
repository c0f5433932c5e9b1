"""The live servers of tests/live, for generated clients."""

from tests.live.conftest import clients, partner, relay, servers  # noqa: F401 - fixtures
