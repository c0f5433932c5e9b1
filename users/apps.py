"""The app of partners' users and of the staff who decide about them."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class UsersConfig(AppConfig):
    """Who the partners' users are."""

    name = "users"

    def ready(self) -> None:
        """Keeps the groups of staff as users/services/roles.py has them, and connects what logins begin."""
        from django.contrib.admin.models import LogEntry  # noqa: PLC0415 - models are ready only now
        from django.contrib.auth.models import Group  # noqa: PLC0415

        from users.services.roles import sync_roles  # noqa: PLC0415
        from users.staff_login import sessions  # noqa: PLC0415

        # The back office's names for Django's own models.
        Group._meta.verbose_name, Group._meta.verbose_name_plural = _("role"), _("roles")  # noqa: SLF001
        LogEntry._meta.verbose_name, LogEntry._meta.verbose_name_plural = _("action"), _("log of actions")  # noqa: SLF001
        post_migrate.connect(sync_roles, sender=self, dispatch_uid="users.services.roles")
        user_logged_in.connect(sessions.begin, dispatch_uid="users.staff_login")
