"""The app of what happens on a user's account."""

from django.apps import AppConfig

from partners.monitoring import database_gauges
from transactions.imports import metrics


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Says which roles of staff see these, shows them where a user is looked at, and imports in the metrics."""
        from transactions.case_sections import register_sections  # noqa: PLC0415
        from users.services import roles  # noqa: PLC0415

        roles.extend(
            ["transactions.view_conversion", "transactions.view_document"], roles=("viewer", "reviewer", "auditor")
        )
        # A tax slip holds what a viewer does not see: birth date and address.
        roles.extend(["transactions.download_document"], roles=("reviewer", "auditor"))
        register_sections()
        database_gauges.add_source(metrics.imports)
