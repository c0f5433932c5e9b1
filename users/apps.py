"""The app of partners' users and of staff."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class UsersConfig(AppConfig):
    """Partners' users, their compliance cases, and staff."""

    name = "users"

    def ready(self) -> None:
        """Connect the signals, register the event's data, and rename Django's models for the back office."""
        from django.contrib.admin.models import LogEntry  # noqa: PLC0415 - models are ready only now
        from django.contrib.auth.models import Group  # noqa: PLC0415

        from partners.events.serializers import DATA_SERIALIZERS  # noqa: PLC0415
        from partners.models import EventType  # noqa: PLC0415
        from users.api.serializers import UserSerializer  # noqa: PLC0415
        from users.services.roles import sync_roles  # noqa: PLC0415
        from users.staff_login import sessions  # noqa: PLC0415

        # What GET /v1/users/{externalId} returns.
        DATA_SERIALIZERS[EventType.STATUS_CHANGED] = UserSerializer
        Group._meta.verbose_name, Group._meta.verbose_name_plural = _("role"), _("roles")  # noqa: SLF001
        LogEntry._meta.verbose_name, LogEntry._meta.verbose_name_plural = _("action"), _("log of actions")  # noqa: SLF001
        post_migrate.connect(sync_roles, sender=self, dispatch_uid="users.services.roles")
        user_logged_in.connect(sessions.start, dispatch_uid="users.staff_login")
