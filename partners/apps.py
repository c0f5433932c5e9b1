"""The app of the gate."""

from django.apps import AppConfig


class PartnersConfig(AppConfig):
    """Who is asking, may they, how often, at most once."""

    name = "partners"
