"""The app of what happens on a user's account."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Add the sections of the case page."""
        from transactions.case_sections import register_sections  # noqa: PLC0415

        register_sections()
