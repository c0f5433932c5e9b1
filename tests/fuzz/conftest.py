"""The live servers, for schemathesis."""

from tests.slow.live.conftest import partner, servers

__all__ = ["partner", "servers"]
