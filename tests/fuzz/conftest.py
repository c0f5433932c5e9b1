"""The live servers, for schemathesis."""

from tests.live.conftest import partner, servers

__all__ = ["partner", "servers"]
