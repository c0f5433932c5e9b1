"""The app of conversions and documents."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Add the sections of the case page."""
        from transactions.case_sections import CONVERSIONS, DOCUMENTS  # noqa: PLC0415
        from users.backoffice.case.sections import SECTIONS  # noqa: PLC0415

        SECTIONS.extend((CONVERSIONS, DOCUMENTS))
