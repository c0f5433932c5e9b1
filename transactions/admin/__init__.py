"""The admin of conversions and documents: read-only."""

from transactions.admin.conversions import ConversionAdmin
from transactions.admin.documents import DocumentAdmin

__all__ = ("ConversionAdmin", "DocumentAdmin")
