"""The admin of partners, their API keys and webhooks, and the bases of every admin."""

from partners.admin import api_keys, deliveries, partners, webhooks  # noqa: F401 - registers the admins
