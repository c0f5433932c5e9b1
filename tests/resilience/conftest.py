"""The service under load while what it stands on goes and comes back."""

from tests.live.conftest import partner, session

__all__ = ["partner", "session"]
