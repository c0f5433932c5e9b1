"""The app of the gate."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from partners.observing.statements import watch


class PartnersConfig(AppConfig):
    """Who is asking, may they, how often, at most once."""

    name = "partners"

    def ready(self) -> None:
        """Names its models in the reader's language, and has statements noted for each request's log line."""
        from partners.names import translate_names  # noqa: PLC0415 - models are ready only now

        translate_names(self.get_models())
        connection_created.connect(watch, dispatch_uid="partners.observing.statements")
