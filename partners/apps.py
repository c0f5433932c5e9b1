"""The app of the gate."""

from django.apps import AppConfig


class PartnersConfig(AppConfig):
    """Who is asking, may they, how often, at most once."""

    name = "partners"

    def ready(self) -> None:
        """Names its models in the reader's language, and registers its system checks."""
        from partners import checks  # noqa: F401, PLC0415 - registered by being imported
        from partners.names import translate_names  # noqa: PLC0415 - models are ready only now

        translate_names(self.get_models())
