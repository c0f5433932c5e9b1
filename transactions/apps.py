"""The app of what happens on a user's account."""

from django.apps import AppConfig

from partners.observing import sources
from transactions import observed


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Says which roles of staff see these, shows them where a user is looked at, and imports in the metrics."""
        from transactions.backoffice import register_sections  # noqa: PLC0415
        from users import roles  # noqa: PLC0415

        roles.extend(
            ["transactions.view_conversion", "transactions.view_document"], roles=("viewer", "reviewer", "auditor")
        )
        # A tax slip holds what a viewer does not see: birth date and address.
        roles.extend(["transactions.download_document"], roles=("reviewer", "auditor"))
        register_sections()
        sources.add_source(observed.imports)
