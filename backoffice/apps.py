"""The app of the back office."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BackofficeConfig(AppConfig):
    """Every page of staff, Django's admin classes among them. It has no models."""

    name = "backoffice"

    def ready(self) -> None:
        """Rename Django's models for the back office."""
        from django.contrib.auth.models import Group  # noqa: PLC0415 - models are ready only now

        Group._meta.verbose_name, Group._meta.verbose_name_plural = _("role"), _("roles")  # noqa: SLF001
