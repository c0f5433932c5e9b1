"""The app of what sandbox partners do by themselves."""

from django.apps import AppConfig


class SandboxConfig(AppConfig):
    """Simulations, own webhooks, keys and requests: contract, section 11. It has no models."""

    name = "sandbox"
