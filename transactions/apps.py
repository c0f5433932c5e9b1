"""The app of what happens on a user's account."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Says which roles of staff see these and shows them where a user is looked at."""
        from transactions.case_sections import register_sections  # noqa: PLC0415
        from users.services import roles  # noqa: PLC0415

        roles.extend(
            ["transactions.view_conversion", "transactions.view_document"], roles=("viewer", "reviewer", "auditor")
        )
        # A tax slip holds what a viewer does not see: birth date and address.
        roles.extend(["transactions.download_document"], roles=("reviewer", "auditor"))
        register_sections()
