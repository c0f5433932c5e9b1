"""The admin of partners and their API keys, and the bases of every admin."""

from partners.admin.api_keys import ApiKeyAdmin
from partners.admin.partners import PartnerAdmin

__all__ = ("ApiKeyAdmin", "PartnerAdmin")
