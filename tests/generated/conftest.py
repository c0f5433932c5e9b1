"""The live servers of tests/slow/live, for generated clients."""

from tests.slow.live.conftest import clients, partner, relay, servers  # noqa: F401 - fixtures
