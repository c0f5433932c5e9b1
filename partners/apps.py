"""The app of partners, their API keys and the base of their API."""

from django.apps import AppConfig


class PartnersConfig(AppConfig):
    """Partners, authentication, the API's base and its documentation."""

    name = "partners"

    def ready(self) -> None:
        from partners import checks  # noqa: F401, PLC0415 - it registers them
