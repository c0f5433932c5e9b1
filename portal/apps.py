"""The app of the pages for partners' developers."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """The guide, the reference and the signature doctor, under /docs. It has no models."""

    name = "portal"
