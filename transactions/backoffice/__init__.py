"""What this floor shows of a user on the case page and in the evidence pack."""

from transactions.backoffice import conversions, documents
from users.backoffice.sections import register


def register_sections() -> None:
    """Adds a user's conversions and documents."""
    register(conversions.SECTION)
    register(documents.SECTION)
