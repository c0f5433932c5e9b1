"""The admin of partners and their API keys, and the bases of every admin."""

from partners.admin import api_keys, partners  # noqa: F401 - registers the admins
