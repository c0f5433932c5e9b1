"""The app of conversions and documents."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Register the check of the storage, and the risk flags."""
        from transactions import risk_flags  # noqa: F401, PLC0415 - they register them
        from transactions.documents import folder  # noqa: F401, PLC0415
