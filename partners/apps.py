"""The app of partners, their API keys and the API that they call."""

from django.apps import AppConfig


class PartnersConfig(AppConfig):
    """Partners, authentication, rate limits, idempotency, and the documentation of the API."""

    name = "partners"

    def ready(self) -> None:
        """Registers its system checks."""
        from partners.api import checks  # noqa: F401, PLC0415 - registered by being imported
