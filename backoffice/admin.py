"""Register every admin class: Django imports this module."""

from backoffice import audit, staff  # noqa: F401
from backoffice.partners import api_keys, deliveries, partner_admin, webhooks  # noqa: F401
from backoffice.users import history_admin, open_items, transactions, user_admin  # noqa: F401
