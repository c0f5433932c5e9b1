"""The app of the pages for partners' developers."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """The guide and the reference, under /docs. It has no models."""

    name = "portal"
