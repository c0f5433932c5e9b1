"""What tests of this floor share."""

from tests.documents import folder

__all__ = ("folder",)
