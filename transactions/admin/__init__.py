"""The admin of conversions and documents."""

from transactions.admin import conversions, documents  # noqa: F401 - registers the admins
