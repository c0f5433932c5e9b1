"""Failures of the service's dependencies under load."""

from tests.slow.live.conftest import partner, session

__all__ = ["partner", "session"]
