"""The app of what partners are told: the feed of events, and webhooks."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The outbox, the relay, the feed, webhook endpoints and deliveries."""

    name = "events"

    def ready(self) -> None:
        from events import monitoring  # noqa: F401, PLC0415 - it registers them
