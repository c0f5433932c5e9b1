"""What this floor shows of a user on the case page and in the evidence pack."""

from transactions.case_sections import conversion_section, document_section
from users.backoffice.case.sections import register


def register_sections() -> None:
    """Adds a user's conversions and documents."""
    register(conversion_section.SECTION)
    register(document_section.SECTION)
