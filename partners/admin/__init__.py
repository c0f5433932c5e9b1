"""The admin of partners and their API keys, and what every admin page shares."""

from partners.admin.partners import ApiKeyAdmin, PartnerAdmin

__all__ = ("ApiKeyAdmin", "PartnerAdmin")
