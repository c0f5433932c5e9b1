"""The app of what happens on a user's account."""

from django.apps import AppConfig

from partners.monitoring import database_gauges
from transactions.imports import metrics


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Add the sections of the case page and the metrics of imports."""
        from transactions.case_sections import register_sections  # noqa: PLC0415

        register_sections()
        database_gauges.add_source(metrics.imports)
