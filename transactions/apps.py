"""The app of conversions and documents."""

from django.apps import AppConfig


class TransactionsConfig(AppConfig):
    """Conversions and documents, and their lists."""

    name = "transactions"

    def ready(self) -> None:
        """Register the events of conversions and documents, and the check of the storage."""
        from partners.events.serializers import DATA_SERIALIZERS  # noqa: PLC0415
        from partners.models import EventType  # noqa: PLC0415
        from transactions import checks  # noqa: F401, PLC0415 - it registers them
        from transactions.api.serializers import (  # noqa: PLC0415
            PublishedDocumentSerializer,
            RecordedTransactionsSerializer,
            WithdrawnDocumentSerializer,
        )

        DATA_SERIALIZERS[EventType.TRANSACTIONS_RECORDED] = RecordedTransactionsSerializer
        DATA_SERIALIZERS[EventType.DOCUMENT_PUBLISHED] = PublishedDocumentSerializer
        DATA_SERIALIZERS[EventType.DOCUMENT_WITHDRAWN] = WithdrawnDocumentSerializer
