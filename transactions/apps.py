"""The app of what happens on a user's account."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Says which roles of staff see conversions."""
        from users import roles  # noqa: PLC0415 - models are ready only now

        roles.extend(["transactions.view_conversion"], roles=("viewer", "reviewer", "auditor"))
